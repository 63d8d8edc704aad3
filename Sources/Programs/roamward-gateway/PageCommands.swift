import ArgumentParser
import GatewayCore
import GatewayHost
import NetworkTypes
import Terminal

struct Page: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "web", abstract: "Show a page inside the tunnel, for users and administrators.",
    subcommands: [Enable.self, Disable.self, Show.self], defaultSubcommand: Show.self)

  struct Enable: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "enable",
      abstract: "Show the page at the gateway's addresses in the tunnel.",
      discussion: """
        It is for devices that a rule of access lets reach it, and knows them by their addresses: it asks for no password. Run again, it \
        changes the settings that are given, and keeps the others.

        Example: `roamward-gateway web enable --administrators admins`
        """)
    @Option(help: "The TCP port; 80 at first.") var port: UInt16?
    @Option(help: ArgumentHelp("The group whose members see everything; none at first.", valueName: "group")) var administrators:
      GatewayName?
    @Flag(help: "Have no administrators.") var noAdministrators = false
    @Option(help: ArgumentHelp("The group whose members may end sessions (none at first).", valueName: "group")) var operators: GatewayName?
    @Flag(help: "Have no operators.") var noOperators = false
    @Option(help: "A further name of the page; may be repeated.") var name: [Parsed<DomainName>] = []
    @Option(help: "The title, as the company's name; none at first.") var title: String?
    @Flag(help: "Have no title.") var noTitle = false
    @Option(help: "The number of devices that a user may add.") var devices: Int64?
    @OptionGroup var options: QuietChangeOptions

    func validate() throws {
      if port == 0 { throw ValidationError("--port: use 1 to 65535") }
      if let devices, !Settings.deviceLimits.contains(devices) { throw ValidationError("--devices: use 0 to 10000") }
      if let title, !PageSettings.isTitle(title) { throw ValidationError("--title: use a line of 1 to 64 characters") }
      if noTitle, title != nil { throw ValidationError("give one of --title and --no-title") }
      if noAdministrators, administrators != nil { throw ValidationError("give one of --administrators and --no-administrators") }
      if noOperators, operators != nil { throw ValidationError("give one of --operators and --no-operators") }
    }

    func run() throws {
      let directory = try options.state.directory()
      guard directory.site != nil else { throw GatewayError.notInitialised }
      for group in [administrators, operators].compactMap({ $0 }) where directory.group(named: group) == nil {
        throw GatewayError("there is no group \(group)", help: "`roamward-gateway group add \(group)` adds it")
      }
      var settings = try options.state.folder.pageSettings() ?? PageSettings()
      settings.port = port ?? settings.port
      settings.administrators = noAdministrators ? nil : administrators ?? settings.administrators
      settings.operators = noOperators ? nil : operators ?? settings.operators
      if !name.isEmpty { settings.names = name.map(\.value.text) }
      settings.title = noTitle ? nil : title ?? settings.title
      if let devices {
        _ = try options.make { work throws(GatewayError) in
          try work.change(PushedSettings(), deviceLimit: devices, for: .everybody, named: "everybody")
        }
      }
      guard try options.set(.page, to: settings.description) else { return }
      let trouble = try options.state.folder.outcome(of: "page", .page)
      try Show.show(options.state)
      if let trouble {
        throw Failure.refused(
          "the page is not shown: \(trouble)\n  help: roamward-gateway web enable --port PORT, or free that port (`ss -ltnp`)")
      }
    }
  }

  struct Disable: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "disable",
      abstract: "Show no page; devices that it added stay.",
      discussion: "Example: `roamward-gateway web disable`")
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.set(.page, to: nil) }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show where the page is, and what keeps devices from it.",
      discussion: "Example: `roamward-gateway web show`")
    @OptionGroup var state: StateOptions

    func run() throws { try Self.show(state) }

    static func show(_ state: StateOptions) throws {
      let directory = try state.directory()
      guard directory.site != nil else { throw GatewayError.notInitialised }
      guard let settings = try state.folder.pageSettings() else {
        return write("no page; `roamward-gateway web enable` shows one\n")
      }
      let addresses = directory.sortedPools.compactMap { $0.gateway?.address }
      let administrators = settings.administrators.map { "group \($0)" } ?? "none"
      if try state.folder.isServed, let trouble = try state.folder.trouble(of: .page) { write("note  the page is not shown: \(trouble)\n") }
      write(
        settings.hosts(of: addresses.map { $0.family == .v4 ? "\($0)" : "[\($0)]" }).map { "page  http://\($0)/" } + [
          "title  \(settings.title ?? "none")", "administrators  \(administrators)",
          "operators  \(settings.operators.map { "group \($0)" } ?? "none")",
          "devices  up to \(directory.settings(for: .everybody)?.deviceLimit ?? Settings.usualDeviceLimit) for each user",
        ] + directory.obstacles(to: addresses, port: settings.port))
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
        "note  no rule of access allows it\n  help: roamward-gateway access allow page --from everybody --to "
          + addresses.map(\.description).joined(separator: ",") + " --protocol tcp --port \(port)")
    }
    if let routes = settings(for: .everybody)?.pushed.routes,
      !addresses.contains(where: { address in routes.contains { $0.contains(address) } }
      )
    {
      found.append(
        "note  the routes of clients do not lead to it\n  help: roamward-gateway settings set"
          + addresses.map { " --add-route \(IPPrefix.host($0))" }.joined())
    }
    return found
  }
}
