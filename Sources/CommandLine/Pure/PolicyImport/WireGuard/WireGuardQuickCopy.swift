import NetworkTypes
import PolicySource
import RoamwardCore

/// A wg-quick file for use by Roamward. Lines that run programs, or that duplicate the agent's work, are turned into comments.
struct WireGuardQuickCopy {
  var text: String
  /// Reasons why it cannot be used; empty if it can.
  var problems: [Diagnostic]
  /// Reasons why its tunnel is off, although it can be read.
  var obstacles: [String] = []
  /// The file's words for the programs that it is for alone; `nil`: it is for all.
  var programs: String?
  /// The policy's `dns` from the lines that run programs, which give the next two properties too; `nil`: none.
  var dns: DNSPolicy?
  var isKillSwitch = false
  var routes: RoutePolicy?
}

func copyWireGuardQuick(_ bytes: [UInt8], at place: KeyPath, _ report: inout ImportReport) -> WireGuardQuickCopy {
  let lines = numberedLines(bytes).map { QuickLine(number: $0.number, text: $0.text) }
  var reader = QuickLineReader(amnezia: AmneziaWG(lines.compactMap(\.setting)), place: place)
  // The hooks are judged by what the other lines say, and reported in their places.
  var draft = ImportReport(file: report.file)
  let text = reader.copy(of: lines, &draft).joined(separator: "\n")
  let (configuration, diagnostics) = readWireGuardQuick(Array(text.utf8), file: report.file)
  reader.hooks = WireGuardHooks(
    lines.compactMap(\.hook), link: baseName(of: report.file), file: reader.names, of: configuration)
  _ = reader.copy(of: lines, &report)
  for diagnostic in diagnostics {
    let line = place.line ?? diagnostic.location.line
    let help = diagnostic.severity == .error ? diagnostic.help.map { "; \($0)" } ?? "" : ""
    report.record("WireGuard: \(diagnostic.message)\(help)", weight: diagnostic.severity == .error ? .error : .warning, line: line)
  }
  var copy = WireGuardQuickCopy(text: text, problems: diagnostics.filter { $0.severity == .error })
  copy.obstacles = reader.obstacles + reader.hooks.obstacles
  copy.programs = reader.programs
  if reader.amnezia == .changed {
    copy.obstacles.append("this is AmneziaWG, which this version does not speak; ask for a file of plain WireGuard")
  }
  if let configuration, !configuration.hasEndpoint {
    copy.obstacles.append("no peer has an endpoint: this is a gateway's file, or not complete")
  }
  copy.dns = reader.hooks.dns
  copy.isKillSwitch = reader.hooks.isKillSwitch
  copy.routes = reader.hooks.routes == RoutePolicy() ? nil : reader.hooks.routes
  return copy
}

/// A line of a wg-quick file.
private struct QuickLine {
  let number: Int
  let text: String

  /// The line without its comment.
  var bare: String { trimmed(text.prefix { $0 != "#" }) }

  /// `Key = Value`; `nil`: the line is something else.
  var setting: (key: String, value: String)? {
    let parts = bare.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    return parts.count == 2 ? (trimmed(parts[0]), trimmed(parts[1])) : nil
  }

  /// A line that runs programs.
  var hook: (number: Int, moment: WireGuardHooks.Moment, text: String)? {
    guard let setting, let known = knownKeys.first(where: { $0.lowercased() == setting.key.lowercased() }) else { return nil }
    return WireGuardHooks.Moment(rawValue: known).map { (number, $0, setting.value) }
  }
}

/// Copies lines, and reports what becomes of each.
private struct QuickLineReader {
  let amnezia: AmneziaWG
  let place: KeyPath
  var hooks = WireGuardHooks()
  private(set) var names = HookNames()
  private(set) var obstacles: [String] = []
  private(set) var programs: String?

  init(amnezia: AmneziaWG, place: KeyPath) {
    self.amnezia = amnezia
    self.place = place
  }

  mutating func copy(of lines: [QuickLine], _ report: inout ImportReport) -> [String] {
    (names, obstacles) = (HookNames(), [])
    var section = ""
    return lines.map { line in
      let bare = line.bare
      if bare.hasPrefix("[") { section = bare.lowercased() }
      return bare.isEmpty || bare.hasPrefix("[") ? line.text : copy(line, place.text.isEmpty ? section : place.text, &report)
    }
  }

  private mutating func copy(_ line: QuickLine, _ section: String, _ report: inout ImportReport) -> String {
    let number = place.line ?? line.number
    if let key = line.setting.flatMap({ AmneziaWG.key($0.key) }) {
      let place = KeyPath(text: section.isEmpty ? key : "\(section).\(key)", line: number)
      if amnezia == .changed {
        report.dropped(place, "a key of AmneziaWG", weight: .error)
      } else {
        report.dropped(place, "a key of AmneziaWG; with these values its gateway speaks plain WireGuard")
      }
      return "# " + line.text
    }
    if let setting = line.setting, let key = androidKeys.first(where: { $0.lowercased() == setting.key.lowercased() }) {
      let isForAll = key == androidKeys[1]
      if !isForAll { programs = "some apps of a phone alone (\(key))" }
      report.dropped(
        KeyPath(text: section.isEmpty ? key : "\(section).\(key)", line: number),
        isForAll
          ? "apps of a phone stay outside; name programs of this machine in `apps: { exclude: […] }` of a policy without `include`"
          : "the apps of a phone that the tunnel is for; `--app` names programs of this machine", weight: .warning)
      return "# " + line.text
    }
    guard let setting = line.setting, let known = knownKeys.first(where: { $0.lowercased() == setting.key.lowercased() }) else {
      // The word itself is not shown: it may be a key without its name.
      report.dropped(KeyPath(text: section, line: number), "a line that wg-quick does not know", weight: .error)
      return "# " + line.text
    }
    let place = KeyPath(text: section.isEmpty ? known : "\(section).\(known)", line: number)
    let value = setting.value.lowercased()
    switch known {
    case "PreUp", "PostUp", "PreDown", "PostDown":
      guard let judgement = hooks.judgements[line.number] else { return "# " + line.text }
      report.add(judgement.outcome, place, judgement.text, weight: judgement.weight)
    case "FwMark" where !["off", "0", "0x0"].contains(value):
      report.dropped(place, "Roamward marks its tunnels' packets itself", weight: .warning)
    case "Table" where value != "off" && value != "auto":
      report.dropped(place, "Roamward routes through tables of its own", weight: .warning)
      if !["main", "254"].contains(value) {
        obstacles.append(
          "`Table` names a table that only rules of routing lead to, so not all of AllowedIPs goes into the tunnel; write `routes`")
      }
    case "SaveConfig" where value == "true": report.dropped(place, "Roamward never writes this file", weight: .warning)
    case "DNS": return copyNames(line, setting.value, at: place, &report)
    default:
      report.taken(place, known == "PrivateKey" || known == "PresharedKey" ? "a secret: in the file for root alone" : "")
      return line.text
    }
    return "# " + line.text
  }

  /// Copies a line of name servers without the domains that only choose them (`~corp.example`), which the policy names.
  private mutating func copyNames(_ line: QuickLine, _ value: String, at place: KeyPath, _ report: inout ImportReport) -> String {
    let items = value.split(separator: ",").map { trimmed($0) }.filter { !$0.isEmpty }
    let servers = items.filter { IPAddress($0) != nil }
    let domains = items.filter { IPAddress($0) == nil }
    guard names.takeFile(servers: servers.compactMap { IPAddress($0) }, domains: domains), domains.contains(where: { $0.hasPrefix("~") })
    else {
      report.taken(place)
      return line.text
    }
    report.changed(place, hooks.dns?.keyText ?? "its servers answer every name")
    let kept = (servers + domains.filter { !$0.hasPrefix("~") }).joined(separator: ", ")
    return kept.isEmpty ? "# " + line.text : "DNS = \(kept)"
  }
}

/// Keys of WireGuard's app for Android (`Interface.java` of wireguard-android).
private let androidKeys = ["IncludedApplications", "ExcludedApplications"]

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
    if let programs = copy.programs { audience = .programs(ofFile: programs) }
    usesImportedFile = true
    report.record("the policy uses \(file) itself, which is in its folder")
  }

  /// Uses the provider of a wg-quick file beside the policy. If the file is not usable, it is kept, and the tunnel is disabled.
  mutating func useWireGuard(_ copy: WireGuardQuickCopy) {
    let file = addFile("\(name).conf", Array(copy.text.utf8), isSecret: true)
    obstacles += copy.obstacles
    if let programs = copy.programs, case .everyone = audience { audience = .programs(ofFile: programs) }
    if copy.problems.isEmpty {
      dns = dns ?? copy.dns
      routes = routes ?? copy.routes
      killSwitch = copy.isKillSwitch ? .on : killSwitch
    }
    if let problem = copy.problems.first {
      provider = .missing
      obstacles.append(
        "\(file) cannot be used as it is (\(problem.message)); correct it, then write `provider: { wireguard: { config: \(file) } }`")
    } else {
      provider = .wireGuard(file: file)
    }
  }
}
