internal import NetworkTypes

/// A message of Apple's SimpleTunnel sample: a binary property list with an identifier and a command.
///
/// **Insecure.** Neither encryption nor authentication. It is here to show that the provider protocol carries it.
public struct SimpleTunnelMessage: Hashable, Sendable {
  /// The content of a message. The numbers are those of `command`.
  public enum Body: Hashable, Sendable {
    /// 1: bytes of a flow; a datagram has its other end.
    case data([UInt8], host: String?, port: UInt16?)
    /// 2: send no more for this connection.
    case suspend
    /// 3: go on.
    case resume
    /// 4: a connection is closed, or a direction of it.
    case close(CloseType)
    /// 5: reserved. Neither side of the sample implements it.
    case dns
    /// 6: opens a connection.
    case open(Target)
    /// 7: whether it is open; for IP the settings of the tunnel.
    case openResult(OpenResult, Configuration?)
    /// 8: IP packets.
    case packets([[UInt8]])
    /// 9: asks for the configuration, or has it.
    case fetchConfiguration(Configuration?)
  }

  public enum CloseType: Int64, Hashable, Sendable, CaseIterable {
    case none = 1
    case read = 2
    case write = 3
    case all = 4
  }

  public enum OpenResult: Int64, Hashable, Sendable, CaseIterable {
    case success = 0
    case invalidParameter = 1
    case noSuchHost = 2
    case refused = 3
    case timeout = 4
    case internalError = 5
  }

  /// The traffic that a connection carries.
  public enum Target: Hashable, Sendable {
    case packets
    case stream(host: String, port: UInt16)
    case datagrams
  }

  /// The reason why a property list is no message.
  public enum Refusal: Error, Hashable, Sendable {
    case list(PropertyList.Refusal)
    /// The top is no dictionary.
    case notADictionary
    /// A member is missing, or has a value that it cannot have.
    case member(String)
    /// A command other than 1 to 9.
    case unknownCommand(Int64)
  }

  /// The connection, 0 to 2^32 − 1.
  public var identifier: UInt32
  public var body: Body

  public init(identifier: UInt32, body: Body) {
    self.identifier = identifier
    self.body = body
  }

  public var command: Int64 {
    switch body {
    case .data: 1
    case .suspend: 2
    case .resume: 3
    case .close: 4
    case .dns: 5
    case .open: 6
    case .openResult: 7
    case .packets: 8
    case .fetchConfiguration: 9
    }
  }

  /// Packets of a message, and bytes of a packet, at most.
  public static let mostPackets = 32
  static let longestPacket = 8192
}

extension SimpleTunnelMessage {
  public var propertyList: PropertyList {
    var members: [String: PropertyList] = ["identifier": .integer(Int64(identifier)), "command": .integer(command)]
    switch body {
    case .data(let bytes, let host, let port):
      members["data"] = .data(bytes)
      members["host"] = host.map { .string($0) }
      members["port"] = port.map { .integer(Int64($0)) }
    case .suspend, .resume, .dns: break
    case .close(let type): members["close-type"] = .integer(type.rawValue)
    case .open(.packets): members["tunnel-type"] = .integer(1)
    case .open(.datagrams): (members["tunnel-type"], members["app-proxy-flow-type"]) = (.integer(0), .integer(3))
    case .open(.stream(let host, let port)):
      (members["tunnel-type"], members["app-proxy-flow-type"]) = (.integer(0), .integer(1))
      (members["host"], members["port"]) = (.string(host), .integer(Int64(port)))
    case .openResult(let result, let configuration):
      members["result-code"] = .integer(result.rawValue)
      members["configuration"] = configuration?.propertyList
    case .packets(let packets):
      members["packets"] = .array(packets.map { .data($0) })
      members["protocols"] = .array(packets.map { .integer($0.first.map { $0 >> 4 == 6 } ?? false ? Darwin.v6 : Darwin.v4) })
    case .fetchConfiguration(let configuration): members["configuration"] = configuration?.propertyList
    }
    return .dictionary(members)
  }

  /// Address families on Darwin: AF_INET6 is 10 on Linux.
  private enum Darwin {
    static let v4: Int64 = 2
    static let v6: Int64 = 30
  }

  public init(_ list: PropertyList) throws(Refusal) {
    guard case .dictionary(let members) = list else { throw .notADictionary }
    let reader = Members(members: members)
    guard let identifier = UInt32(exactly: try reader.integer("identifier")) else { throw .member("identifier") }
    let command = try reader.integer("command")
    self.init(identifier: identifier, body: try Self.body(command, reader))
  }

  private static func body(_ command: Int64, _ reader: Members) throws(Refusal) -> Body {
    switch command {
    case 1: return .data(try reader.data("data"), host: try reader.optionalText("host"), port: try reader.optionalPort("port"))
    case 2: return .suspend
    case 3: return .resume
    case 4:
      guard reader.members["close-type"] != nil else { return .close(.all) }
      guard let type = CloseType(rawValue: try reader.integer("close-type")) else { throw .member("close-type") }
      return .close(type)
    case 5: return .dns
    case 6: return .open(try target(reader))
    case 7:
      guard let result = OpenResult(rawValue: try reader.integer("result-code")) else { throw .member("result-code") }
      return .openResult(result, try reader.configuration())
    case 8: return .packets(try packets(reader))
    case 9: return .fetchConfiguration(try reader.configuration())
    default: throw .unknownCommand(command)
    }
  }

  private static func target(_ reader: Members) throws(Refusal) -> Target {
    switch try reader.integer("tunnel-type") {
    case 1: return .packets
    case 0: break
    default: throw .member("tunnel-type")
    }
    switch try reader.integer("app-proxy-flow-type") {
    case 3: return .datagrams
    case 1: break
    default: throw .member("app-proxy-flow-type")
    }
    guard let host = try reader.optionalText("host"), !host.isEmpty else { throw .member("host") }
    guard let port = try reader.optionalPort("port") else { throw .member("port") }
    return .stream(host: host, port: port)
  }

  private static func packets(_ reader: Members) throws(Refusal) -> [[UInt8]] {
    guard case .array(let packets)? = reader.members["packets"], packets.count <= mostPackets else { throw .member("packets") }
    guard case .array(let protocols)? = reader.members["protocols"], protocols.count == packets.count else { throw .member("protocols") }
    var found: [[UInt8]] = []
    for (packet, family) in zip(packets, protocols) {
      guard case .data(let bytes) = packet, bytes.count <= longestPacket else { throw .member("packets") }
      // The family has to be that of the packet: a sender that confuses them is broken.
      guard family == .integer(bytes.first.map { $0 >> 4 == 6 } ?? false ? Darwin.v6 : Darwin.v4) else { throw .member("protocols") }
      found.append(bytes)
    }
    return found
  }

  fileprivate struct Members {
    let members: [String: PropertyList]

    func integer(_ key: String) throws(Refusal) -> Int64 {
      guard case .integer(let value)? = members[key] else { throw .member(key) }
      return value
    }

    func data(_ key: String) throws(Refusal) -> [UInt8] {
      guard case .data(let value)? = members[key] else { throw .member(key) }
      return value
    }

    func optionalText(_ key: String) throws(Refusal) -> String? {
      guard let member = members[key] else { return nil }
      guard case .string(let text) = member, text.utf8.count <= 253 else { throw .member(key) }
      return text
    }

    /// An integer, or its decimal text: clients of two generations differ.
    func optionalPort(_ key: String) throws(Refusal) -> UInt16? {
      let port: UInt16? =
        switch members[key] {
        case nil: 0
        case .integer(let number): UInt16(exactly: number)
        case .string(let text) where text.utf8.allSatisfy { (48...57).contains($0) }: UInt16(text)
        default: nil
        }
      guard let port else { throw .member(key) }
      return port == 0 ? nil : port
    }

    func configuration() throws(Refusal) -> Configuration? {
      guard let member = members["configuration"] else { return nil }
      guard let configuration = Configuration(member) else { throw .member("configuration") }
      return configuration
    }
  }
}
