import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayStore
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

/// An option's value of a type that cannot be an argument itself.
struct Parsed<Value: LosslessStringConvertible & Sendable>: ExpressibleByArgument {
  let value: Value

  init?(argument: String) {
    guard let value = Value(argument) else { return nil }
    self.value = value
  }
}

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

/// The folder of every command.
struct StateOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Use the gateway of this folder.", valueName: "folder"), completion: .directory)
  var state = StateFolder.standard.path

  var folder: StateFolder { StateFolder(state) }

  func directory(_ excerpt: Excerpt = .everything) throws -> Directory { try folder.store().load(excerpt) }

  /// Refuses what has no effect with a store in a file. `consequence`: why.
  func requireServer(_ consequence: String) throws {
    if try folder.storeServer() != nil { return }
    throw Failure.refused(
      "the store is a file: \(consequence)\n  help: gateways share a server (`roamward-gateway store use`); docs/gateway.md shows it")
  }

  /// Runs requests in one transaction, and wakes the running gateway. `excerpt`: the rows that they need.
  @discardableResult func change<R>(
    reading excerpt: Excerpt = .everything, _ body: (inout Administration) throws(GatewayError) -> R
  ) throws -> R {
    try folder.refuseOtherStore()
    let result = try folder.store().change(as: Actor.current, at: Timestamp.now.wholeSecond, reading: excerpt, body)
    folder.announceChange()
    return result
  }

  /// Records a change that is not in the store's tables.
  func record(_ verb: String, _ object: String, _ detail: String = "") throws {
    try folder.refuseOtherStore()
    let record = AuditEntry.Record(actor: Actor.current, verb: verb, object: object, detail: detail)
    try folder.store().record([record], at: Timestamp.now.wholeSecond)
  }
}
