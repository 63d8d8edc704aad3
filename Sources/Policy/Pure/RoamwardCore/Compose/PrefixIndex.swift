import NetworkTypes

/// An index of many prefixes, to find those that contain another one: at most one look-up for each length that occurs.
struct PrefixIndex {
  private let prefixes: Set<IPPrefix>
  /// The lengths that occur, the longest first.
  private var lengths: [IPAddress.Family: [Int]] = [:]

  init(_ prefixes: some Sequence<IPPrefix>) {
    let set = Set(prefixes)
    self.prefixes = set
    for family in IPAddress.Family.allCases {
      lengths[family] = Set(set.lazy.filter { $0.family == family }.map(\.length)).sorted(by: >)
    }
  }

  func contains(_ prefix: IPPrefix) -> Bool { prefixes.contains(prefix) }

  /// The longest prefix that contains all of this one, including the prefix itself.
  func longest(holding prefix: IPPrefix) -> IPPrefix? {
    for length in lengths[prefix.family] ?? [] where length <= prefix.length {
      if let key = IPPrefix(prefix.address, length: length), prefixes.contains(key) { return key }
    }
    return nil
  }
}
