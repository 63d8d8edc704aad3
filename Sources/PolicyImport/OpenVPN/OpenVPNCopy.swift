import NetworkTypes
import PolicyFiles
import RoamwardCore

/// An OpenVPN configuration for a service. Lines that run programs or write files are turned into comments, because the file comes from
/// elsewhere and root reads it.
struct OpenVPNCopy {
  var text: String
  var obstacles: [String] = []
  var names = OpenVPNNames()
  /// The value of `dev`: a kind of device (tun, tap), or a link's name.
  var device: String?
  /// Whether an option names another file.
  var namesFiles = false
  /// Whether the server asks for a name and a password.
  var asksForLogin = false

  mutating func append(_ other: OpenVPNCopy) {
    text += other.text
    obstacles += other.obstacles
    device = other.device ?? device
    namesFiles = namesFiles || other.namesFiles
    asksForLogin = asksForLogin || other.asksForLogin
    names = other.names
  }
}

func copyOpenVPN(
  _ lines: [(number: Int, text: String)], path: String, line fixed: Int?, names: OpenVPNNames = OpenVPNNames(), _ report: inout ImportReport
) -> OpenVPNCopy {
  var copy = OpenVPNCopy(text: "", names: names)
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
    if option == "dev", words.count > 1 { device = words[1] }
    if option == "dhcp-option" || option == "dns" {
      // OpenVPN itself ignores it: only scripts use it.
      if let change = names.take([option] + words.dropFirst()) {
        report.changed(place, change)
      } else {
        report.dropped(place, "not a name server or domain that a policy can say", weight: .warning)
      }
      return
    }
    if option == "auth-user-pass", words.count == 1 {
      report.taken(place, "the server asks for a name and password")
      asksForLogin = true
      obstacles.append("it needs a name and password: put them into a file for root alone, and name it after `auth-user-pass`")
    } else if fileOptions.contains(option), words.count > 1, words[1] != "[inline]" {
      report.taken(place, "names another file, which was not copied")
      namesFiles = true
      obstacles.append("`\(option)` names another file, which has to be put beside the policy")
    } else {
      report.taken(place)
    }
  }
}

/// The words of a line, split as OpenVPN does: at blanks, with quotes.
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
  /// Uses the installed provider, which runs openvpn(8) without privileges, and sets what the server sends as far as the policy allows it.
  mutating func useProvider(_ copy: OpenVPNCopy, _ manifest: ProviderManifestFile, _ report: inout ImportReport) {
    let file = addFile("\(name).ovpn", Array(copy.text.utf8), isSecret: true)
    provider = .installed("openvpn", credentials: [ProviderCredential(name: "config", path: file)], manifest)
    dns = copy.names.policy
    if copy.asksForLogin {
      obstacles.append(
        "it needs a user name: add `options: { username: NAME }` to `installed`, and a file for root alone as `password` to `credentials`,"
          + " or answer by `roamward answer`")
    }
    report.note(
      "the installed provider runs openvpn(8) without privileges; the server's routes and name servers are used (`allow` limits them)")
  }

  /// Runs OpenVPN as a separate process. The tunnel counts as up while it runs, which is earlier than connected.
  mutating func useOpenVPN(_ copy: OpenVPNCopy, folder: String, _ report: inout ImportReport) {
    let file = addFile("\(name).ovpn", Array(copy.text.utf8), isSecret: true)
    let pid = "/run/roamward-openvpn-\(name).pid"
    var up = ["/usr/sbin/openvpn", "--cd", folder, "--config", file, "--daemon", "roamward-\(name)", "--writepid", pid]
    var status = ["/usr/bin/pgrep", "--pidfile", pid]
    var link: String?
    dns = copy.names.policy
    if dns != nil {
      // Its name servers belong to its link, whose name therefore has to be known in advance.
      let kind = copy.device ?? "tun"
      let isNamed = kind != "tun" && kind != "tap" && InterfaceName(kind) != nil
      let name = isNamed ? kind : TunnelSetup.linkName(forTunnel: name)
      if !isNamed { up += ["--dev", name, "--dev-type", kind == "tap" ? "tap" : "tun"] }
      status = ["/usr/bin/test", "-e", "/sys/class/net/\(name)"]
      link = name
    }
    provider = .command(up: up, down: ["/usr/bin/pkill", "--pidfile", pid], status: status, interface: link)
    obstacles += copy.obstacles
    report.note(
      "the provider of OpenVPN is not installed (package roamward-openvpn), or the file names others: the policy starts openvpn(8), which has to be installed, in \(shown(folder)); the tunnel counts as connected \(link == nil ? "while it runs" : "once its link is there")"
    )
  }
}

extension ImportedTunnel {
  /// Names an identity of the profile in the OpenVPN file, or puts it there for the installed provider, unless that has its own keys.
  mutating func useOpenVPNIdentity(_ identity: ProfileIdentity?, _ report: inout ImportReport) {
    guard let i = files.firstIndex(where: { $0.name.hasSuffix(".ovpn") }) else { return }
    let options = numberedLines(files[i].bytes).map { trimmed($0.text).split { $0 == " " || $0 == "\t" }.first.map(String.init) ?? "" }
    if options.contains(where: ["pkcs12", "key", "<pkcs12>", "<key>"].contains) { return }
    guard let identity else {
      return obstacles.append("the profile does not hold the identity (PKCS#12) that it names; name one with `pkcs12` in \(files[i].name)")
    }
    if case .installed = provider {
      // It gets no other file than this.
      files[i].bytes += Array("<pkcs12>\n\(base64Lines(identity.contents))</pkcs12>\n".utf8)
      addCredential("key-password", file: identity.passwordFile, missing: "the password of its identity")
      return report.note("\(files[i].name) holds the identity \(identity.file)")
    }
    files[i].bytes += Array("pkcs12 \(identity.file)\n".utf8)
    if let password = identity.passwordFile {
      files[i].bytes += Array("askpass \(password)\n".utf8)
    } else {
      obstacles.append(
        "the profile does not hold the password of \(identity.file): put it into a file for root alone, and name that with `askpass` in \(files[i].name)"
      )
    }
    report.note("\(files[i].name) names the identity \(identity.file)")
  }
}
