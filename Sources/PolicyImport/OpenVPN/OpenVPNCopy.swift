/// An OpenVPN configuration for a service: what runs programs or writes files is turned into comments, for the file comes from elsewhere
/// and is read by root.
struct OpenVPNCopy {
  var text: String
  var obstacles: [String] = []
}

func copyOpenVPN(_ lines: [(number: Int, text: String)], path: String, line fixed: Int?, _ report: inout ImportReport) -> OpenVPNCopy {
  var copy = OpenVPNCopy(text: "")
  var block: (name: String, isDropped: Bool)?
  for (number, line) in lines {
    let bare = trimmed(line)
    if let open = block {
      copy.text += open.isDropped ? "# \(line)\n" : "\(line)\n"
      if bare.lowercased() == "</\(open.name)>" { block = nil }
      continue
    }
    guard !bare.isEmpty, !bare.hasPrefix("#"), !bare.hasPrefix(";") else {
      copy.text += line + "\n"
      continue
    }
    if bare.hasPrefix("<"), bare.hasSuffix(">"), !bare.hasPrefix("</") {
      let name = bare.dropFirst().dropLast().lowercased()
      let isSafe = fileOptions.contains(name) || name == "connection"
      block = (name, !isSafe)
      copy.text += isSafe ? "\(line)\n" : "# \(line)\n"
      let place = KeyPath(text: path + (isSafe ? "<\(name)>" : "(block)"), line: fixed ?? number)
      if isSafe {
        report.taken(place, name == "connection" ? "" : "inline, in the file for root alone")
      } else {
        report.dropped(place, "not a block that is known to be harmless", weight: .warning)
      }
      continue
    }
    copy.append(line, words(of: bare), KeyPath(text: path, line: fixed ?? number), &report)
  }
  if block != nil { copy.obstacles.append("a block in the OpenVPN file is not closed") }
  return copy
}

extension OpenVPNCopy {
  fileprivate mutating func append(_ line: String, _ words: [String], _ place: KeyPath, _ report: inout ImportReport) {
    let option = (words.first ?? "").lowercased().drop { $0 == "-" }.description
    guard knownOptions.contains(option) || programOptions.contains(option) || serviceOptions.contains(option) else {
      report.dropped(
        KeyPath(text: place.text.isEmpty ? "(line)" : place.text + "(option)", line: place.line),
        "not an option that is known to be harmless; turned into a comment", weight: .warning)
      text += "# \(line)\n"
      return
    }
    let place = place.text.isEmpty ? KeyPath(text: option, line: place.line) : KeyPath(text: place.text + option, line: place.line)
    if programOptions.contains(option) {
      report.dropped(place, "runs programs, loads code or reads another file; turned into a comment", weight: .warning)
      text += "# \(line)\n"
      return
    }
    if serviceOptions.contains(option) {
      report.dropped(place, "the commands of the policy say this, or it writes files; turned into a comment", weight: .warning)
      text += "# \(line)\n"
      return
    }
    text += line + "\n"
    if option == "auth-user-pass", words.count == 1 {
      report.taken(place, "OpenVPN will ask for a name and password, and nobody is there to answer")
      obstacles.append("it needs a name and password: put them into a file for root alone, and name it after `auth-user-pass`")
    } else if fileOptions.contains(option), words.count > 1, words[1] != "[inline]" {
      report.taken(place, "names another file, which was not copied")
      obstacles.append("`\(option)` names another file, which has to be put beside the policy")
    } else {
      report.taken(place)
    }
  }
}

/// The words of a line, as OpenVPN splits it: at blanks, with quotes.
private func words(of line: String) -> [String] {
  var words: [String] = []
  var word = ""
  var quote: Character?
  for character in line {
    if let open = quote {
      if character == open { quote = nil } else { word.append(character) }
    } else if character == "\"" || character == "'" {
      quote = character
    } else if character == " " || character == "\t" {
      if !word.isEmpty { words.append(word) }
      word = ""
    } else {
      word.append(character)
    }
  }
  return word.isEmpty ? words : words + [word]
}

extension ImportedTunnel {
  /// OpenVPN as a process of its own: up as long as it runs, which is earlier than connected.
  mutating func useOpenVPN(_ copy: OpenVPNCopy, folder: String, _ report: inout ImportReport) {
    let file = addFile("\(name).ovpn", Array(copy.text.utf8), isSecret: true)
    let pid = "/run/roamward-openvpn-\(name).pid"
    provider = .command(
      up: ["/usr/sbin/openvpn", "--cd", folder, "--config", file, "--daemon", "roamward-\(name)", "--writepid", pid],
      down: ["/usr/bin/pkill", "--pidfile", pid], status: ["/usr/bin/pgrep", "--pidfile", pid])
    obstacles += copy.obstacles
    report.note(
      "this version has no OpenVPN provider of its own: the policy starts openvpn(8), which has to be installed, in \(shown(folder)); the tunnel counts as connected while it runs"
    )
  }
}
