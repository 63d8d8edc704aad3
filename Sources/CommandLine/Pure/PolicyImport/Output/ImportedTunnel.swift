import JSON
import NetworkTypes
internal import PolicyFiles
import RoamwardCore

/// A translated rule, and its source text.
struct ImportedRule {
  var rule: Rule
  var original: String?
}

/// The identity of a profile that a tunnel uses.
enum IdentityChoice: Equatable {
  case named(String)
  /// The only identity in the profile.
  case any
}

/// A key with its certificate, as files beside the policy.
struct ProfileIdentity: Equatable {
  var uuid: String?
  var file: String
  /// PKCS#12.
  var contents: [UInt8] = []
  var passwordFile: String?
}

/// A tunnel that is not yet written to a policy file.
struct ImportedTunnel {
  enum Provider {
    case wireGuard(file: String)
    case command(up: [String], down: [String], status: [String], interface: String? = nil)
    /// An installed provider, with its manifest; of its program only the name matters.
    case installed(InstalledProviderConfiguration, ProviderManifestFile)
    /// A profile of NetworkManager, by its name or UUID.
    case profile(String)
    /// No provider is available yet: the policy keeps the rules, disabled, and says which part is missing.
    case missing

    static func installed(
      _ name: String, options: JSON = [:], credentials: [ProviderCredential], _ manifest: ProviderManifestFile
    ) -> Provider {
      .installed(
        InstalledProviderConfiguration(
          program: ProviderProgram(name: name, path: "", user: ""), options: options, credentials: credentials), manifest)
    }

    var manifest: ProviderManifestFile? { if case .installed(_, let manifest) = self { manifest } else { nil } }

    /// Whether the policy knows its link, so that packets of programs can be led into it.
    var hasLink: Bool {
      switch self {
      case .wireGuard, .installed: true
      case .command(_, _, _, let interface): interface != nil
      case .profile, .missing: false
      }
    }

    /// Whether the tunnel's link is known before its start, so that everything else can be blocked.
    var canIncludeAllNetworks: Bool {
      switch self {
      case .wireGuard, .installed: true
      case .command, .profile, .missing: false
      }
    }
  }

  var name: String
  var about: String?
  /// Reasons why the tunnel cannot be used as it is; empty if it can.
  var obstacles: [String] = []
  var provider = Provider.missing
  var onDemand: Bool?
  /// A reason why the rules must not act, whatever the file says.
  var ruleObstacle: String?
  var rules: [ImportedRule] = []
  var idle: Int64?
  var routes: RoutePolicy?
  var dns: DNSPolicy?
  var proxy: ProxyPolicy?
  var audience = Audience.everyone
  var mtu: UInt32?
  var switches = Switches()
  var killSwitch: KillSwitch {
    get { switches.killSwitch }
    set { switches.killSwitch = newValue }
  }
  /// Remarks about the file, printed as comments at the top. They never contain secrets.
  var remarks: [String] = []
  /// The files beside the policy.
  var files: [OutputFile] = []
  /// Whether the policy names the imported file, instead of a copy.
  var usesImportedFile = false
  /// The identity in the profile that the tunnel uses.
  var identity: IdentityChoice?
  /// Whether the server shows a certificate, so that the profile's authorities matter, or else those of the machine.
  var needsAuthorities = false
  /// Names that its files must not have.
  private let taken: Set<String>

  init(name: String, avoiding taken: Set<String> = []) {
    self.name = name
    self.taken = taken
  }

  /// Names a file as a credential of the installed provider. `nil`: the profile does not hold what is named, so the tunnel is off.
  mutating func addCredential(_ name: String, file: String?, missing: String) {
    guard case .installed(var configuration, let manifest) = provider else { return }
    guard let file else {
      obstacles.append(
        "the profile does not hold \(missing): put it into a file for root alone, and name that in `credentials` as `\(name)`")
      return
    }
    let next = configuration.credentials.firstIndex { $0.name > name } ?? configuration.credentials.endIndex
    configuration.credentials.insert(ProviderCredential(name: name, path: file), at: next)
    provider = .installed(configuration, manifest)
  }

  mutating func addSecret(_ suffix: String, _ bytes: [UInt8]) -> String {
    addFile("\(name).\(suffix)", bytes, isSecret: true)
  }

  /// Adds a file under a name that no other file of this tunnel has, nor the imported file.
  mutating func addFile(_ wanted: String, _ bytes: [UInt8], isSecret: Bool) -> String {
    let dot = wanted.lastIndex(of: ".") ?? wanted.endIndex
    var file = wanted
    var number = 2
    while taken.contains(file) || files.contains(where: { $0.name == file }) {
      file = "\(wanted[..<dot])-\(number)\(wanted[dot...])"
      number += 1
    }
    files.append(OutputFile(name: file, bytes: bytes, isSecret: isSecret))
    return file
  }
}

extension ImportedTunnel {
  /// Makes it a tunnel for these programs alone. One that is meant for programs stays off without their names.
  mutating func limit(to apps: [App], _ report: inout ImportReport) {
    let programs = apps.map(\.description).joined(separator: ", ")
    var startIt = false
    if case .programs(let meant, let onUse) = audience {
      if apps.isEmpty {
        return obstacles.append(
          "it is for \(meant), and this machine has other names for programs: give them with `--app`, as units, files or control groups")
      }
      startIt = onUse
    }
    if apps.isEmpty { return }
    guard provider.hasLink else {
      let cure = "add `interface:` to it, and `apps: { include: [\(programs)] }`"
      return obstacles.append("its provider names no link, so it cannot be for \(programs) alone: \(cure)")
    }
    audience = .apps(apps)
    report.record(
      obstacles.isEmpty
        ? "\(name) is for \(programs) alone, as asked: all of their packets go through it or nowhere"
        : "\(name) is for \(programs) alone, as asked; while it is off, their packets go where those of all programs go")
    // The policy reader refuses what has no meaning beside that.
    if switches.includesAllNetworks || killSwitch != .off || !(routes?.include.isEmpty ?? true) {
      report.record("\(name): routes and kill switches of the file are left out; all of these packets go through the tunnel or nowhere")
    }
    (switches.includesAllNetworks, killSwitch) = (false, .off)
    routes?.include = []
    routes?.includeFile = nil
    takePrograms(programs, startIt: startIt, &report)
  }

  /// Has programs start the tunnel where look-ups would have.
  private mutating func takePrograms(_ programs: String, startIt: Bool, _ report: inout ImportReport) {
    let waits = if case .wireGuard = provider { true } else { false }
    let action = waits ? Action.evaluateConnection : .connect
    let words =
      waits
      ? "the first packet of \(programs) starts the tunnel" : "the tunnel is up at all times, because no packet starts one of its provider"
    if rules.isEmpty, startIt {
      rules = [ImportedRule(rule: Rule(action: action, location: SourceLocation(file: report.file, line: 1, column: 1)))]
      report.record("\(name): \(words)")
    }
    if rules.isEmpty {
      report.record("\(name) has no rules: \(programs) reach nothing until it is up (`roamward up \(name)`)", weight: .warning)
    }
    for i in rules.indices where !rules[i].rule.connections.isEmpty {
      let starts = rules[i].rule.connections.contains { $0.action != .neverConnect }
      (rules[i].rule.connections, rules[i].rule.action) = ([], starts ? action : .ignore)
      report.record(
        "\(name), rule \(i + 1): "
          + (starts ? "\(words), whatever names they look up" : "no look-up starts the tunnel, and it is left as it is"),
        weight: .warning)
    }
  }

  /// Adds the rules that the user chose, because files of this kind have none.
  mutating func addMissingRules(_ rules: MissingRules, for kind: String, _ report: inout ImportReport) {
    let location = SourceLocation(file: report.file, line: 1, column: 1)
    switch rules {
    case .none: report.record("\(kind) has no on-demand rules: add some, or start the tunnel with `roamward up`")
    case .everywhereBut(let network):
      self.rules = [
        ImportedRule(rule: Rule(name: "trusted network", match: .network([network]), action: .disconnect, location: location)),
        ImportedRule(rule: Rule(name: "any other network", action: .connect, location: location)),
      ]
      report.record("\(kind) has no on-demand rules: the tunnel is down on the network `\(network)`, and up on any other")
    }
  }
}

extension ImportedTunnel {
  /// The keys that are true or false.
  struct Switches {
    var includesAllNetworks = false
    var disconnectsOnSleep = false
    var killSwitch = KillSwitch.off
  }

  /// The programs that the tunnel is for.
  enum Audience {
    case everyone
    /// Some alone, in the words of the file, to follow "it is for": they are of another system.
    /// `onUse`: their first connection starts the tunnel.
    case programs(ofFile: String, onUse: Bool = false)
    case apps([App])
  }
}
