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

struct Devices: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device", abstract: "Manage devices.", subcommands: [Add.self, Set.self, Remove.self, Show.self])

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Add a device with a stock client; print its file.",
      discussion: """
        The file is for wg-quick(8) and the WireGuard apps. Without --public-key a key is made for the device. It is printed once with the \
        file, and stored nowhere. Better: make the key on the device (`wg genkey`), and give its public key.

        Example: `roamward-gateway device add alice/phone --qr`
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

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract: "Change a device: its name, its key.",
      discussion: """
        Its addresses stay. `roamward-gateway set settings.devices.USER/DEVICE` changes its settings.

        Example: `roamward-gateway device set alice/phone --name tablet`
        """)
    @Argument(help: ArgumentHelp("The device.", valueName: "user/device"), completion: .devices) var device: DevicePath
    @Option(help: "The new name, without the user.") var name: GatewayName?
    @Option(help: "The device's new public key.") var publicKey: KeyArgument?
    @OptionGroup var options: ChangeOptions

    func validate() throws {
      if name == nil, publicKey == nil { throw ValidationError("give --name or --public-key") }
    }

    func run() throws {
      try options.make { work throws(GatewayError) in
        if let publicKey { try work.setKey(publicKey.key, of: device) }
        if let name { try work.rename(device, to: name) }
      }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Disconnect and remove a device at once.",
      discussion: """
        Its addresses are held while others are free: added again under this name, it gets them back.

        Example: `roamward-gateway device remove alice/phone`
        """)
    @Argument(help: ArgumentHelp("The device.", valueName: "user/device"), completion: .devices) var device: DevicePath
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make(reading: .users([device.user])) { work throws(GatewayError) in try work.removeDevice(device) } }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show a device, or list all with their addresses.",
      discussion: """
        Of one device, shows its settings and whose they are; with --file, its file with the present settings. The gateway does not have \
        the device's private key: put it in, or give it with --private-key. --sessions lists when, how and from where devices logged \
        in, and whether they are connected; it needs root.

        Example: `roamward-gateway device show alice/phone --file --qr`
        """, aliases: ["list"])
    @Argument(help: ArgumentHelp("The device; without one, all are listed.", valueName: "user/device"), completion: .devices)
    var device: DevicePath?
    @Flag(help: "Print its wg-quick file.") var file = false
    @Option(help: ArgumentHelp("A file with the device's private key.", valueName: "file"), completion: .file()) var privateKey: String?
    @OptionGroup var form: ClientFileOptions
    @Flag(help: "List devices that logged in.") var sessions = false
    @OptionGroup var list: ListOptions

    func validate() throws {
      if device == nil, file { throw ValidationError("--file is about one device: name it") }
      if !file, form.qr || privateKey != nil { throw ValidationError("--qr and --private-key are about the file: give --file too") }
      if file, list.json { throw ValidationError("the file is no JSON: give one of --file and --json") }
      if sessions, device != nil { throw ValidationError("--sessions lists all: name no device") }
    }

    func run() throws {
      if sessions {
        let status = try HostExamination(list.state.folder).status()
        return write(list.json ? [JSON(encoding: status.sessionReports).text(indented: true)] : status.sessionLines)
      }
      guard let device else { return try list.show(.devices) { $0.deviceList(at: $1) } }
      let directory = try list.state.directory(.users([device.user]))
      guard let found = directory.device(at: device) else {
        throw Failure.refused("there is no device \(device)\n  help: `roamward-gateway device list` lists the devices")
      }
      if file {
        return try form.show(try ClientFile(directory, found).text(privateKey: try key(of: found) ?? "(the device's own private key)"))
      }
      let settings = directory.settingOrigins(of: found)
      if list.json { return write([JSON(encoding: SettingsDocument(device, settings)).text(indented: true)]) }
      let lines = settings.map(\.line)
      write(lines.isEmpty ? ["no settings; the client's routes are the pools"] : lines)
    }

    private func key(of device: Device) throws -> String? {
      guard let privateKey else { return nil }
      let text = try TextFile.read(privateKey, limit: 1024).prefix { $0 != UInt8(ascii: "\n") }
      guard let key = SecretKey(base64: String(decoding: text, as: UTF8.self)), key.publicKey == device.publicKey else {
        throw Failure.refused("\(privateKey) is not the private key of the device")
      }
      return key.base64
    }
  }
}
