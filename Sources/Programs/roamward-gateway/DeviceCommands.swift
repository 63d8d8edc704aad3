import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayPage
import JSON
import KernelModel
import KeyMemory
import LinuxIO
import NetworkTypes
import Terminal

/// The options for showing a client's file.
struct ClientFileOptions: ParsableArguments {
  @Flag(help: "Show a QR code for the WireGuard app.") var qr = false

  func show(_ text: String) throws {
    guard qr else { return write(text) }
    guard let code = QRCode.text(text) else {
      throw Failure.refused("the file is too long for a QR code\n  help: fewer routes, or the file itself (without --qr)")
    }
    write(code)
  }
}

struct Peers: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "peer", abstract: "Add devices with stock clients, and show their files.", subcommands: [Add.self, Export.self])

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Add a device, and print its wg-quick file.",
      discussion: """
        Without --public-key a key is made for the device. It is printed once with the file, and stored nowhere. Better: make the key on \
        the device (`wg genkey`), and give its public key.

        Example: `roamward-gateway peer add alice/phone --qr`
        """)
    @Argument(help: ArgumentHelp("The device.", valueName: "user/device")) var device: DevicePath
    @Option(help: "The device's own public key.") var publicKey: KeyArgument?
    @OptionGroup var file: ClientFileOptions
    @OptionGroup var options: QuietChangeOptions

    func run() throws {
      let key = publicKey == nil ? SecretKey.random() : nil
      guard let known = publicKey?.key ?? key?.publicKey else { throw Failure.refused("no key can be made") }
      let content = try options.make { work throws(GatewayError) in
        let added = try work.addDevice(device, publicKey: known, by: .administrator)
        return try ClientFile(work.directory, added)
      }
      if let content { try file.show(content.text(privateKey: key?.base64 ?? "(the device's own private key)")) }
    }
  }

  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Export a device's wg-quick file with the present settings.",
      discussion: """
        The gateway does not have the device's private key: put it in, or give it with --private-key.

        Example: `roamward-gateway peer export alice/phone --qr`
        """)
    @Argument(help: ArgumentHelp("The device.", valueName: "user/device")) var device: DevicePath
    @Option(help: ArgumentHelp("A file with the device's private key.", valueName: "file"), completion: .file()) var privateKey: String?
    @OptionGroup var file: ClientFileOptions
    @OptionGroup var state: StateOptions

    func run() throws {
      let directory = try state.directory(.users([device.user]))
      guard let found = directory.device(at: device) else {
        throw Failure.refused("there is no device \(device)\n  help: `roamward-gateway device list` lists the devices")
      }
      let key = try privateKey.map { path in
        let text = try TextFile.read(path, limit: 1024).prefix { $0 != UInt8(ascii: "\n") }
        guard let key = SecretKey(base64: String(decoding: text, as: UTF8.self)), key.publicKey == found.publicKey else {
          throw Failure.refused("\(path) is not the private key of \(device)")
        }
        return key
      }
      try file.show(try ClientFile(directory, found).text(privateKey: key?.base64 ?? "(the device's own private key)"))
    }
  }
}

struct Devices: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device", abstract: "Manage devices.", subcommands: [List.self, Remove.self, Rename.self, Rekey.self],
    defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List devices with their addresses.",
      discussion: "Example: `roamward-gateway device list`")
    @OptionGroup var list: ListOptions

    func run() throws { try list.show(.devices) { $0.deviceList(at: $1) } }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Disconnect and remove a device at once.",
      discussion: """
        Its addresses are held while others are free: added again under this name, it gets them back.

        Example: `roamward-gateway device remove alice/phone`
        """)
    @Argument(help: ArgumentHelp("The device.", valueName: "user/device")) var device: DevicePath
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make(reading: .users([device.user])) { work throws(GatewayError) in try work.removeDevice(device) } }
  }

  struct Rename: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rename",
      abstract: "Give a device another name.",
      discussion: "Example: `roamward-gateway device rename alice/phone tablet`")
    @Argument(help: ArgumentHelp("The device.", valueName: "user/device")) var device: DevicePath
    @Argument(help: "The new name, without the user.") var name: GatewayName
    @OptionGroup var options: ChangeOptions

    func run() throws {
      try options.make(reading: .users([device.user])) { work throws(GatewayError) in try work.rename(device, to: name) }
    }
  }

  struct Rekey: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rekey",
      abstract: "Give a device another key; its addresses stay.",
      discussion: "Example: `roamward-gateway device rekey alice/phone xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=`")
    @Argument(help: ArgumentHelp("The device.", valueName: "user/device")) var device: DevicePath
    @Argument(help: "The device's new public key.") var publicKey: KeyArgument
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make { work throws(GatewayError) in try work.setKey(publicKey.key, of: device) } }
  }
}

struct SettingsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settings", abstract: "Manage the settings in clients' files.", subcommands: [Set.self, Clear.self, Show.self])

  /// The owner of settings: a group, a user or a device; without an option, everybody.
  struct ScopeOptions: ParsableArguments {
    @Option(help: "Of this group.") var group: GatewayName?
    @Option(help: "Of this user.") var user: GatewayName?
    @Option(help: ArgumentHelp("Of this device.", valueName: "user/device")) var device: DevicePath?

    func validate() throws {
      if [group != nil, user != nil, device != nil].filter({ $0 }).count > 1 {
        throw ValidationError("give one of --group, --user and --device")
      }
    }

    /// The rows of those whom settings of this scope concern.
    var excerpt: Excerpt { (user ?? device?.user).map { .users([$0]) } ?? .everything }

    func scope(_ work: Administration) throws(GatewayError) -> (scope: Settings.Scope, name: String) {
      if let group { return (.group(try work.group(group).id), "group \(group)") }
      if let user { return (.user(try work.user(user).id), "user \(user)") }
      if let device { return (.device(try work.device(device).id), "device \(device)") }
      return (.everybody, "everybody")
    }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract: "Change settings of everybody, a group, a user or a device.",
      discussion: """
        The most specific scope that has a setting decides. `--devices` limits how many devices a user has after a login or by the \
        page, and goes to no client; `peer add` adds more. Connected devices that have logged in get new settings at once, stock \
        clients with their next file. A list that loses nothing is changed; --replace is for another one in its place.

        Example: `roamward-gateway settings set --group staff --route 10.20.0.0/16 --dns 10.20.0.53`
        """)
    @OptionGroup var scope: ScopeOptions
    @Option(help: "A prefix that goes into the tunnel; may be repeated.", transform: prefixArgument(_:)) var route: [IPPrefix] = []
    @Option(help: "A further prefix, beside those that the scope has.", transform: prefixArgument(_:)) var addRoute: [IPPrefix] = []
    @Option(help: "A prefix that goes there no longer.", transform: prefixArgument(_:)) var removeRoute: [IPPrefix] = []
    @Option(help: "A name server; may be repeated.", transform: addressArgument(_:)) var dns: [IPAddress] = []
    @Option(help: "A further name server.", transform: addressArgument(_:)) var addDns: [IPAddress] = []
    @Option(help: "A name server that is asked no longer.", transform: addressArgument(_:)) var removeDns: [IPAddress] = []
    @Option(help: "A search domain; may be repeated.", transform: domainArgument(_:)) var search: [DomainName] = []
    @Option(help: "A further search domain.", transform: domainArgument(_:)) var addSearch: [DomainName] = []
    @Option(help: "A search domain to remove.", transform: domainArgument(_:)) var removeSearch: [DomainName] = []
    @Flag(help: "Replace the lists that the scope has.") var replace = false
    @Option(help: "The MTU in bytes, 1280 to 9000.") var mtu: UInt32?
    @Option(help: "Seconds between keepalives; 0 is off.") var keepalive: UInt16?
    @Option(help: "The number of devices that a user may add; 10 at first.") var devices: Int64?
    @OptionGroup var options: ChangeOptions

    func run() throws {
      let isGiven =
        mtu != nil || keepalive != nil || devices != nil || replace
        || [route, addRoute, removeRoute].contains { !$0.isEmpty } || [dns, addDns, removeDns].contains { !$0.isEmpty }
        || [search, addSearch, removeSearch].contains { !$0.isEmpty }
      if !isGiven { throw ValidationError("give a setting, such as --route, --add-route, --dns, --search, --mtu or --devices") }
      try options.make(reading: scope.excerpt) { work throws(GatewayError) in
        let (scope, name) = try scope.scope(work)
        let present = work.directory.settings(for: scope)?.pushed
        let pushed = PushedSettings(
          routes: try route(present?.routes), dns: try dns(present?.dns), search: try search(present?.search), mtu: mtu,
          keepalive: keepalive)
        try work.change(pushed, deviceLimit: devices, for: scope, named: name)
      }
    }

    private func route(_ present: [IPPrefix]?) throws(GatewayError) -> [IPPrefix]? {
      try ListChange(option: "route", whole: route, added: addRoute, removed: removeRoute, replaces: replace).made(of: present)
    }

    private func dns(_ present: [IPAddress]?) throws(GatewayError) -> [IPAddress]? {
      try ListChange(option: "dns", whole: dns, added: addDns, removed: removeDns, replaces: replace).made(of: present)
    }

    private func search(_ present: [DomainName]?) throws(GatewayError) -> [DomainName]? {
      try ListChange(option: "search", whole: search, added: addSearch, removed: removeSearch, replaces: replace).made(of: present)
    }
  }

  struct Clear: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "clear",
      abstract: "Remove all settings of a scope.",
      discussion: "Example: `roamward-gateway settings clear --group staff`")
    @OptionGroup var scope: ScopeOptions
    @OptionGroup var options: ChangeOptions

    func run() throws {
      try options.make(reading: scope.excerpt) { work throws(GatewayError) in
        let (scope, name) = try scope.scope(work)
        try work.clearSettings(for: scope, named: name)
      }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show the settings of a device, and whose they are.",
      discussion: "Example: `roamward-gateway settings show alice/phone`")
    @Argument(help: ArgumentHelp("The device.", valueName: "user/device")) var device: DevicePath
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var state: StateOptions

    func run() throws {
      let directory = try state.directory(.users([device.user]))
      guard let found = directory.device(at: device) else {
        throw Failure.refused("there is no device \(device)\n  help: `roamward-gateway device list` lists the devices")
      }
      let settings = directory.settingOrigins(of: found)
      if json { return write([JSON(encoding: SettingsDocument(device, settings)).text(indented: true)]) }
      let lines = settings.map(\.line)
      write(lines.isEmpty ? ["no settings; the client's routes are the pools"] : lines)
    }
  }
}
