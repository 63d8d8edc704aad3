internal import NetworkTypes

/// A set of prefixes, to find out whether an address is in one of them. The cost depends on the number of different lengths only.
struct PrefixFilter: Sendable {
  private let prefixes: Set<IPPrefix>
  /// The lengths that occur, by family.
  private let lengths: [IPAddress.Family: [Int]]

  init(_ prefixes: [IPPrefix]) {
    self.prefixes = Set(prefixes)
    lengths = Dictionary(grouping: self.prefixes, by: \.family).mapValues { Set($0.map(\.length)).sorted() }
  }

  var isEmpty: Bool { prefixes.isEmpty }

  func contains(_ address: IPAddress) -> Bool {
    lengths[address.family, default: []].contains { length in IPPrefix(address, length: length).map(prefixes.contains) ?? false }
  }
}
