/// The endpoint of a peer: a host, by address or by name, and a UDP or TCP port (1 to 65535).
public struct Endpoint: Hashable, Sendable {
  public enum Host: Hashable, Sendable, CustomStringConvertible {
    case address(IPAddress)
    case name(DomainName)

    public var description: String {
      switch self {
      case .address(let address): address.description
      case .name(let name): name.text
      }
    }
  }

  public let host: Host
  public let port: UInt16

  public init(host: Host, port: UInt16) {
    self.host = host
    self.port = port
  }

  public var address: IPAddress? {
    if case .address(let address) = host { address } else { nil }
  }
}

extension Endpoint: LosslessStringConvertible {
  /// Parses `192.0.2.1:51820`, `[2001:db8::1]:51820` or `vpn.example.com:51820`.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = Self.port(text[text.index(after: colon)...]) else { return nil }
    let host = String(text[..<colon])
    if host.hasPrefix("["), host.hasSuffix("]"), let address = IPAddress(String(host.dropFirst().dropLast())), address.family == .v6 {
      self.init(host: .address(address), port: port)
    } else if let address = IPAddress(host), address.family == .v4 {
      self.init(host: .address(address), port: port)
    } else if !host.utf8.allSatisfy({ (48...57).contains($0) || $0 == UInt8(ascii: ".") }), let name = DomainName(host) {
      self.init(host: .name(name), port: port)
    } else {
      return nil
    }
  }

  public var description: String {
    if case .address(let address) = host, address.family == .v6 { "[\(address)]:\(port)" } else { "\(host):\(port)" }
  }

  private static func port(_ text: Substring) -> UInt16? {
    guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }), let port = UInt16(text), port > 0 else {
      return nil
    }
    return port
  }
}
