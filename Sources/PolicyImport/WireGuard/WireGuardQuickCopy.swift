import PolicySource
import RoamwardCore

/// A wg-quick file for use by Roamward. Lines that run programs, or that duplicate the agent's work, are turned into comments.
struct WireGuardQuickCopy {
  var text: String
  /// Reasons why it cannot be used; empty if it can.
  var problems: [Diagnostic]
  /// Reasons why its tunnel is off, although it can be read.
  var obstacles: [String] = []
}

func copyWireGuardQuick(_ bytes: [UInt8], at place: KeyPath, _ report: inout ImportReport) -> WireGuardQuickCopy {
  var section = ""
  var copied: [String] = []
  let amnezia = AmneziaWG(
    numberedLines(bytes).compactMap { _, line in setting(trimmed(line.prefix { $0 != "#" })) })
  for (number, line) in numberedLines(bytes) {
    let bare = trimmed(line.prefix { $0 != "#" })
    if bare.hasPrefix("[") { section = bare.lowercased() }
    let line =
      bare.isEmpty || bare.hasPrefix("[")
      ? line : copy(line, bare, place.text.isEmpty ? section : place.text, place.line ?? number, amnezia, &report)
    copied.append(line)
  }
  let text = copied.joined(separator: "\n")
  let (configuration, diagnostics) = readWireGuardQuick(Array(text.utf8), file: report.file)
  for diagnostic in diagnostics {
    let line = place.line ?? diagnostic.location.line
    report.note("WireGuard: \(diagnostic.message)", weight: diagnostic.severity == .error ? .error : .warning, line: line)
  }
  var copy = WireGuardQuickCopy(text: text, problems: diagnostics.filter { $0.severity == .error })
  if amnezia == .changed {
    copy.obstacles.append("this is AmneziaWG, which this version does not speak; ask for a file of plain WireGuard")
  }
  if let configuration, !configuration.hasEndpoint {
    copy.obstacles.append("no peer has an endpoint: this is a gateway's file, or not complete")
  }
  return copy
}

/// `Key = Value`; `nil`: the line is something else.
private func setting(_ bare: String) -> (key: String, value: String)? {
  let parts = bare.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
  return parts.count == 2 ? (trimmed(parts[0]), trimmed(parts[1])) : nil
}

private func copy(
  _ line: String, _ bare: String, _ section: String, _ number: Int, _ amnezia: AmneziaWG, _ report: inout ImportReport
) -> String {
  let setting = setting(bare)
  let value = setting?.value.lowercased() ?? ""
  if let key = setting.flatMap({ AmneziaWG.key($0.key) }) {
    let place = KeyPath(text: section.isEmpty ? key : "\(section).\(key)", line: number)
    if amnezia == .changed {
      report.dropped(place, "a key of AmneziaWG", weight: .error)
    } else {
      report.dropped(place, "a key of AmneziaWG; with these values its gateway speaks plain WireGuard")
    }
    return "# " + line
  }
  guard let setting, let known = knownKeys.first(where: { $0.lowercased() == setting.key.lowercased() }) else {
    // The word itself is not shown: it may be a key without its name.
    report.dropped(KeyPath(text: section, line: number), "a line that wg-quick does not know", weight: .error)
    return "# " + line
  }
  let place = KeyPath(text: section.isEmpty ? known : "\(section).\(known)", line: number)
  let reason: String? =
    switch known {
    case "PreUp", "PostUp", "PreDown", "PostDown":
      "no programs are run from a WireGuard file; use the provider `command` where they are needed"
    case "FwMark" where !["off", "0", "0x0"].contains(value): "Roamward marks its tunnels' packets itself"
    case "Table" where value != "off" && value != "auto": "Roamward routes through tables of its own"
    case "SaveConfig" where value == "true": "Roamward never writes this file"
    default: nil
    }
  if let reason {
    report.dropped(place, reason, weight: .warning)
    return "# " + line
  }
  report.taken(place, known == "PrivateKey" || known == "PresharedKey" ? "a secret: in the file for root alone" : "")
  return line
}

private let knownKeys = [
  "PrivateKey", "ListenPort", "FwMark", "Address", "DNS", "MTU", "Table", "PreUp", "PostUp", "PreDown", "PostDown", "SaveConfig",
  "PublicKey",
  "PresharedKey", "AllowedIPs", "Endpoint", "PersistentKeepalive",
]

extension WireGuardQuickCopy {
  /// Whether the file can be used as it is; a last line without an end is the same as one with it.
  func isUnchanged(from bytes: [UInt8]) -> Bool {
    func lines(_ text: some StringProtocol) -> [Substring.UTF8View] {
      Substring(text).utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true)
    }
    return lines(text).map(Array.init) == lines(String(decoding: bytes, as: UTF8.self)).map(Array.init)
  }
}

extension ImportedTunnel {
  /// Uses the imported file itself, which is beside the policy, and of which `copy` is the judgement.
  mutating func use(_ file: String, _ copy: WireGuardQuickCopy, _ report: inout ImportReport) {
    provider = .wireGuard(file: file)
    obstacles += copy.obstacles
    usesImportedFile = true
    report.note("the policy uses \(file) itself, which is in its folder")
  }

  /// Uses the provider of a wg-quick file beside the policy. If the file is not usable, it is kept, and the tunnel is disabled.
  mutating func useWireGuard(_ copy: WireGuardQuickCopy) {
    let file = addFile("\(name).conf", Array(copy.text.utf8), isSecret: true)
    obstacles += copy.obstacles
    if let problem = copy.problems.first {
      provider = .missing
      obstacles.append(
        "\(file) cannot be used as it is (\(problem.message)); correct it, then write `provider: { wireguard: { config: \(file) } }`")
    } else {
      provider = .wireGuard(file: file)
    }
  }
}
