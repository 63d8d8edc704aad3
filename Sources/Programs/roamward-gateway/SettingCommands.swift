import ArgumentParser
import GatewayCore
import GatewayCredentials
import GatewayHost
import GatewayPage
import GatewaySource
import GatewayStore
import JSON
import LinuxIO
import NetworkTypes
import Terminal

/// The options of a command that changes one setting.
struct SettingOptions: ParsableArguments {
  @Argument(help: "The key, as in a file: settings.everybody.routes.", completion: .settingKeys) var key: String
  @OptionGroup var trial: TrialOption
  @OptionGroup var output: EffectOutput
  @OptionGroup var files: FileOptions

  func path() throws -> SettingPath { try orUsage { try SettingPath(key) } }

  /// Makes a change, and shows it.
  func make(_ edit: SettingEdit) throws {
    let folder = try files.state.folder
    let outcome = try orUsage { try SettingChange(edit, of: files.declared, in: folder).run(isDry: trial.dryRun) }
    output.show(outcome.effect, isMade: !trial.dryRun)
    if output.json { return }
    if !outcome.effect.isEmpty, let path = outcome.path { write("in      \(path)\n") }
    write(trial.note)
    if trial.dryRun || outcome.effect.isEmpty { return }
    if !outcome.isRecorded { writeError("note: the store cannot be read, and the audit log does not have this change\n") }
    try showOutcome(edit.path.keys[0], folder)
  }

  /// Shows by which address the page or logins are there now, or why they are not.
  private func showOutcome(_ key: String, _ folder: StateFolder) throws {
    switch key {
    case "pools":
      // A running gateway may not be able to: its unit has /proc/sys read-only.
      guard folder.forwards, try folder.lock() != nil else { return }
      for family in try folder.known().view.directory.families where !Forwarding.isOn(family) { try Forwarding.turnOn(family) }
    case "logins": try showLogins(folder)
    case "relay": try report(folder.outcome(of: "relay", .relay), "nothing is relayed", "`roamward-gateway set relay.port PORT`")
    case "page":
      guard try folder.pageSettings() != nil else { return }
      let trouble = folder.outcome(of: "page", .page)
      write(try WaysIn(folder).pageLines)
      try report(trouble, "the page is not shown", "`roamward-gateway set page.port PORT`")
    default: break
    }
  }

  private func showLogins(_ folder: StateFolder) throws {
    guard try folder.loginIdentity() != nil else { return }
    let trouble = folder.outcome(of: "login.pem", .logins)
    write(try WaysIn(folder).loginLines)
    try report(trouble, "nobody can log in", "`journalctl -u roamward-gateway`")
  }

  private func report(_ trouble: String?, _ consequence: String, _ cure: String) throws {
    guard let trouble else { return }
    throw Failure.refused("\(consequence): \(trouble)\n  help: \(cure), or free that port (`ss -ltnp`)")
  }

  /// Runs a body whose faults are those of what was typed.
  private func orUsage<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let fault as SettingFault { throw Failure.usage("\(fault)") }
  }
}

struct SetSetting: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Set a setting: endpoint, pools, logins, page and others.",
    discussion: """
      Keys and values are those of files that declare a gateway (docs/gateway-reference.md). Where a file declares the setting, the file is \
      changed, and its comments stay; else the gateway itself. Keys of a mapping that are not named stay. A list loses nothing in \
      silence: --add and --remove change it, --replace replaces it.

      Connected devices that have logged in get new settings at once, stock clients with their next file.

      Example: `roamward-gateway set settings.groups.staff '{ routes: 10.20.0.0/16, dns: 10.20.0.53 }'`
      """)
  @OptionGroup var setting: SettingOptions
  @Argument(help: "The value; several are a list.") var values: [String] = []
  @Option(parsing: .upToNextOption, help: ArgumentHelp("Add these values to the list.", valueName: "value")) var add: [String] = []
  @Option(parsing: .upToNextOption, help: ArgumentHelp("Remove these values from the list.", valueName: "value")) var remove: [String] = []
  @Flag(help: "Replace the value that is there.") var replace = false

  func validate() throws {
    if values.isEmpty == (add.isEmpty && remove.isEmpty) { throw ValidationError("give a value, or --add and --remove") }
    if replace, values.isEmpty { throw ValidationError("--replace needs the value that is to be there") }
  }

  func run() throws {
    let path = try setting.path()
    let act: SettingEdit.Act = values.isEmpty ? .change(adding: add, removing: remove) : .set(values)
    if path.keys == ["store", "stale-after"] || path.keys == ["store"] { try setting.files.state.requireServer("it is never away") }
    try setting.make(SettingEdit(path, act, replaces: replace))
  }
}

struct UnsetSetting: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unset",
    abstract: "Remove a setting; without it, the usual one counts.",
    discussion: """
      `unset logins` forgets the key of logins too: later ones have another pin. `set logins off` keeps it.

      `unset sites.NAME` removes another gateway of the store, with its pools and their leases. Stop it first: a running one keeps its \
      link as it is.

      Example: `roamward-gateway unset settings.groups.staff`
      """)
  @OptionGroup var setting: SettingOptions

  func run() throws {
    if setting.key.hasPrefix("sites.") { return try removeSite(String(setting.key.dropFirst(6))) }
    try setting.make(SettingEdit(try setting.path(), .remove))
  }

  private func removeSite(_ text: String) throws {
    guard let name = GatewayName(text) else { throw Failure.usage("\(text) cannot be the name of a site") }
    let (_, effect) = try setting.trial.change(setting.files.state.folder) { work throws(GatewayError) in try work.removeSite(name) }
    if setting.output.json {
      write([JSON(encoding: effect.summary.document(isMade: !setting.trial.dryRun, connected: effect.connected)).text(indented: true)])
    } else {
      write(effect.lines + setting.trial.note)
    }
  }
}

/// The ways by which people come to a gateway, beside its WireGuard port.
struct WaysIn {
  private let folder: StateFolder

  init(_ folder: StateFolder) { self.folder = folder }

  private func wholeStore() throws -> Directory { try folder.store().load().directory }

  /// The place where clients log in, with the pin.
  var loginLines: [String] {
    get throws {
      guard let site = try folder.store().load(.users([])).site else { throw GatewayError.notInitialised }
      guard let identity = try folder.loginIdentity() else { return ["no logins; `roamward-gateway set logins on` accepts them"] }
      guard let pin = LoginIdentity.pin(of: identity) else {
        throw Failure.refused("\(folder.loginPath) is no certificate\n  help: put the right one back, or unset and set logins")
      }
      return ["login  \(site.endpoint) (TCP)  pin \(pin)"]
    }
  }

  /// All of them, for programs.
  var document: WaysInDocument {
    get throws {
      let directory = try wholeStore()
      guard let site = directory.site else { throw GatewayError.notInitialised }
      let pin = try folder.loginIdentity().flatMap { LoginIdentity.pin(of: $0) }
      let lines = try relayLines + pageLines
      return WaysInDocument(
        login: pin.map { WaysInDocument.Login(endpoint: "\(site.endpoint)", pin: "\($0)") }, relayPort: folder.relayPort(),
        pages: lines.filter { $0.hasPrefix("page  ") }.map { String($0.dropFirst(6)) },
        notes: lines.filter { $0.hasPrefix("note  ") }.map { String($0.dropFirst(6)) })
    }
  }

  var relayLines: [String] {
    get throws {
      guard let port = folder.relayPort() else { return [] }
      let trouble = folder.isServed ? folder.trouble(of: .relay) : nil
      return ["relay  TCP port \(port)"] + (trouble.map { ["note  nothing is relayed: \($0)"] } ?? [])
    }
  }

  /// The addresses of the page, and what keeps devices from it.
  var pageLines: [String] {
    get throws {
      guard let settings = try folder.pageSettings() else { return [] }
      let directory = try wholeStore()
      let addresses = directory.sortedPools.compactMap { $0.gateway?.address }
      let trouble = folder.isServed ? folder.trouble(of: .page) : nil
      return (trouble.map { ["note  the page is not shown: \($0)"] } ?? [])
        + settings.hosts(of: addresses.map { $0.family == .v4 ? "\($0)" : "[\($0)]" }).map { "page  http://\($0)/" } + [
          "title  \(settings.title ?? "none")", "administrators  \(settings.administrators.map { "group \($0)" } ?? "none")",
          "operators  \(settings.operators.map { "group \($0)" } ?? "none")",
          "devices  up to \(directory.settings(for: .everybody)?.deviceLimit ?? Settings.usualDeviceLimit) for each user",
        ] + directory.obstacles(to: addresses, port: settings.port)
    }
  }
}

extension Directory {
  /// The obstacles that keep everybody from the page: no rule allows it to anyone, or the settings of everybody do not lead there.
  fileprivate func obstacles(to addresses: [IPAddress], port: UInt16) -> [String] {
    var found: [String] = []
    let isAllowed = users.keys.contains { user in
      addresses.contains { AccessDecision(AccessQuestion(user: user, destination: $0, transport: .tcp, port: port), in: self).isAllowed }
    }
    if !isAllowed, !users.isEmpty {
      found.append(
        "note  no rule of access allows it\n  help: roamward-gateway access add page --from everybody --to "
          + addresses.map(\.description).joined(separator: ",") + " --protocol tcp --port \(port)")
    }
    if let routes = settings(for: .everybody)?.pushed.routes,
      !addresses.contains(where: { address in routes.contains { $0.contains(address) } }
      )
    {
      found.append(
        "note  the routes of clients do not lead to it\n  help: roamward-gateway set settings.everybody.routes --add "
          + addresses.map { "\(IPPrefix.host($0))" }.joined(separator: " "))
    }
    return found
  }
}
