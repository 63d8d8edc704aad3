import NetworkTypes

/// Many prefixes, to be asked which of them hold another one: at most one look for each length that occurs.
struct PrefixIndex {
  private let prefixes: Set<IPPrefix>
  /// The longest first.
  private var lengths: [IPAddress.Family: [Int]] = [:]

  init(_ prefixes: some Sequence<IPPrefix>) {
    let set = Set(prefixes)
    self.prefixes = set
    for family in IPAddress.Family.allCases {
      lengths[family] = Set(set.lazy.filter { $0.family == family }.map(\.length)).sorted(by: >)
    }
  }

  func contains(_ prefix: IPPrefix) -> Bool { prefixes.contains(prefix) }

  /// The longest that holds the whole of it, itself counted.
  func longest(holding prefix: IPPrefix) -> IPPrefix? {
    for length in lengths[prefix.family] ?? [] where length <= prefix.length {
      if let key = IPPrefix(prefix.address, length: length), prefixes.contains(key) { return key }
    }
    return nil
  }
}
