public import NetworkTypes

/// Addresses that a server gives to its clients: a range with both ends, each address to one client at a time.
public struct AddressPool: Hashable, Sendable {
  private let first: UInt32
  private let last: UInt32
  private var taken: Set<UInt32> = []
  private var next: UInt32

  /// `nil` unless both are IPv4, and the first is not above the last.
  public init?(from first: IPAddress, to last: IPAddress) {
    guard first.family == .v4, last.family == .v4, first <= last else { return nil }
    self.first = UInt32(truncatingIfNeeded: first.low)
    self.last = UInt32(truncatingIfNeeded: last.low)
    next = self.first
  }

  /// A free address; one that was released last comes last. `nil`: all are taken.
  public mutating func take() -> IPAddress? {
    guard taken.count <= Int(last - first) else { return nil }
    while !taken.insert(next).inserted { advance() }
    defer { advance() }
    return IPAddress(v4: next)
  }

  /// Takes an address back.
  public mutating func release(_ address: IPAddress) { taken.remove(UInt32(truncatingIfNeeded: address.low)) }

  private mutating func advance() { next = next == last ? first : next + 1 }
}
