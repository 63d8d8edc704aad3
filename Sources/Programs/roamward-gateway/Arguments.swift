import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayPage
import GatewayStore
import JSON
import KernelModel
import LinuxIO
import NetworkTypes
import Terminal

extension GatewayName: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension DevicePath: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension PortRange: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}

extension Transport: ExpressibleByArgument {}

/// A host with a port or without one: `vpn.example.com`, `192.0.2.1:51820`, `[2001:db8::1]:51820`.
struct EndpointArgument: ExpressibleByArgument {
  let endpoint: Endpoint

  /// The port that WireGuard's documents use.
  private static let usualPort: UInt16 = 51820

  init?(argument: String) {
    if let endpoint = Endpoint(argument) {
      self.endpoint = endpoint
    } else if let address = IPAddress(argument) {
      endpoint = Endpoint(host: .address(address), port: Self.usualPort)
    } else if let name = Endpoint("\(argument):\(Self.usualPort)") {
      endpoint = name
    } else {
      return nil
    }
  }
}

/// A public key as wg(8) writes it.
struct KeyArgument: ExpressibleByArgument {
  let key: WireGuardKey

  init?(argument: String) {
    guard let bytes = bytes(fromBase64: argument), let key = WireGuardKey(bytes: bytes) else { return nil }
    self.key = key
  }
}

/// The destination of a packet: an address, with a port or without.
struct DestinationArgument: ExpressibleByArgument {
  let address: IPAddress
  let port: UInt16?

  init?(argument: String) {
    if let address = IPAddress(argument) {
      (self.address, port) = (address, nil)
    } else if let endpoint = Endpoint(argument), let address = endpoint.address {
      (self.address, port) = (address, endpoint.port)
    } else {
      return nil
    }
  }
}

/// A prefix of an option. What is beyond its length would be cut off in silence.
func prefixArgument(_ text: String) throws -> IPPrefix {
  guard let prefix = IPPrefix(text) else {
    throw ValidationError("a prefix is an address and a length, such as 10.20.0.0/16 (IPv4 up to /32, IPv6 up to /128)")
  }
  let written = text.split(separator: "/").first.flatMap { IPAddress(String($0)) }
  if let written, written != prefix.address {
    throw ValidationError("the network is \(prefix); \(IPPrefix.host(written)) would be that address alone")
  }
  return prefix
}

/// The destination of a rule: prefixes have commas between them.
func goalArgument(_ text: String) throws -> Declaration.Goal {
  if let goal = Declaration.Goal(text) {
    if case .prefixes = goal { return .prefixes(try text.split(separator: ",").map { try prefixArgument(String($0)) }) }
    return goal
  }
  throw ValidationError("prefixes such as 10.20.0.0/16, `group:NAME` (its devices) or `everything` are expected, and no name")
}

/// The folder of every command.
struct StateOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Use the gateway of this folder.", valueName: "folder"), completion: .directory)
  var state = StateFolder.standard.path

  /// For those who may read it alone.
  var folder: StateFolder {
    get throws {
      let folder = place
      guard folder.mayRead else {
        throw Failure.refused("root alone may read the gateway in \(folder.path)\n  help: run the command as root")
      }
      return folder
    }
  }

  /// For a command that says itself what it cannot read.
  var place: StateFolder { StateFolder(state) }

  func directory(_ excerpt: Excerpt = .everything) throws -> Directory { try folder.store().load(excerpt) }

  /// Refuses what has no effect with a store in a file. `consequence`: why.
  func requireServer(_ consequence: String) throws {
    if try folder.storeServer() != nil { return }
    throw Failure.refused(
      "the store is a file: \(consequence)\n  help: gateways share a server (`roamward-gateway store move`); docs/gateway.md shows it")
  }
}

/// The options of a command that lists what the store has.
struct ListOptions: ParsableArguments {
  @Flag(help: "Print JSON.") var json = false
  @OptionGroup var state: StateOptions

  /// `excerpt`: the rows that the list needs.
  func show(
    _ list: ListDocument, reading excerpt: Excerpt = .everything, _ lines: (Directory, Timestamp) -> [String]
  ) throws {
    let (directory, now) = (try state.directory(excerpt), Timestamp.now.wholeSecond)
    write(json ? [list.json(of: directory, at: now).text(indented: true)] : lines(directory, now))
  }
}

/// The options of a command that changes the store, and shows nothing else.
struct ChangeOptions: ParsableArguments {
  @OptionGroup var trial: TrialOption
  @Flag(help: "Print JSON.") var json = false
  @OptionGroup var state: StateOptions

  /// Runs requests in one transaction, wakes the running gateway, and shows what has changed, and whom it concerns. `excerpt`: the rows
  /// that they need, and those of everybody whom it can concern. `isQuiet`: the change is shown on standard error.
  @discardableResult func make<R>(
    reading excerpt: Excerpt = .everything, isQuiet: Bool = false, _ body: (inout Administration) throws(GatewayError) -> R
  ) throws -> R {
    let (result, effect) = try trial.change(state.folder, reading: excerpt, body)
    if isQuiet {
      writeError((effect.lines + trial.note).map { $0 + "\n" }.joined())
    } else if json {
      write([JSON(encoding: effect.summary.document(isMade: !trial.dryRun, connected: effect.connected)).text(indented: true)])
    } else {
      write(effect.lines + trial.note)
    }
    return result
  }
}

/// The option of all commands that change something.
struct TrialOption: ParsableArguments {
  @Flag(help: "Show what would change, and change nothing.") var dryRun = false

  /// The last line of a dry run.
  var note: [String] { dryRun ? ["a dry run: nothing was changed"] : [] }

  /// The changes of requests, and how many of the devices that they concern are connected, just before.
  struct Effect {
    let summary: ChangeSummary
    let connected: Int?

    var lines: [String] { summary.text(connected: connected) }
  }

  func change<R>(
    _ folder: StateFolder, reading excerpt: Excerpt = .everything, _ body: (inout Administration) throws(GatewayError) -> R
  ) throws -> (R, Effect) {
    try folder.refuseOtherStore()
    let requests = { (work: inout Administration) throws(GatewayError) -> (R, Effect) in
      let result = try body(&work)
      let summary = ChangeSummary(work)
      let connected = summary.devices.isEmpty ? nil : HostExamination.countConnected(summary.devices, of: work.directory, folder)
      return (result, Effect(summary: summary, connected: connected))
    }
    let store = try folder.store()
    let now = Timestamp.now.wholeSecond
    if dryRun { return try store.tryOut(as: Actor.current, at: now, reading: excerpt, requests) }
    let result = try store.change(as: Actor.current, at: now, reading: excerpt, requests)
    folder.announceChange()
    return result
  }
}

/// The options of a command that changes the store, and prints what a person takes away: the change is shown on standard error.
struct QuietChangeOptions: ParsableArguments {
  @OptionGroup var trial: TrialOption
  @OptionGroup var state: StateOptions

  /// `nil`: a dry run, which has nothing to take away.
  func make<R>(
    reading excerpt: Excerpt = .everything, _ body: (inout Administration) throws(GatewayError) -> R
  ) throws -> R? {
    let (result, effect) = try trial.change(state.folder, reading: excerpt, body)
    show(effect.lines)
    return trial.dryRun ? nil : result
  }

  private func show(_ lines: [String]) { writeError((lines + trial.note).map { $0 + "\n" }.joined()) }
}
