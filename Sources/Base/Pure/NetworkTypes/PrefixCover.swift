/// The addresses of many prefixes, for questions about one prefix after another: each takes the logarithm of their number.
public struct PrefixCover: Hashable, Sendable {
  /// The prefixes without those inside another, in ascending order: no two of them overlap.
  public let prefixes: [IPPrefix]

  public init(_ prefixes: some Sequence<IPPrefix>) { self.init(ascending: Array(prefixes).ascending) }

  init(ascending: [IPPrefix]) {
    // In this order a prefix comes right before those that it contains.
    let isNested = zip(ascending, ascending.dropFirst()).contains { $0.contains($1) }
    guard isNested else {
      prefixes = ascending
      return
    }
    var kept: [IPPrefix] = []
    for prefix in ascending where !(kept.last?.contains(prefix) ?? false) { kept.append(prefix) }
    prefixes = kept
  }

  /// Whether one of the prefixes contains all of this one.
  public func contains(_ prefix: IPPrefix) -> Bool { last(upTo: prefix).map { prefixes[$0].contains(prefix) } ?? false }

  /// Whether any address is in both.
  public func overlaps(_ prefix: IPPrefix) -> Bool {
    let last = last(upTo: prefix)
    if let last, prefixes[last].contains(prefix) { return true }
    let next = last.map { $0 + 1 } ?? 0
    return next < prefixes.count && prefix.contains(prefixes[next]) || last.map { prefix.contains(prefixes[$0]) } ?? false
  }

  /// The place of the last prefix that is not after this one.
  private func last(upTo prefix: IPPrefix) -> Int? {
    var (low, high) = (0, prefixes.count)
    while low < high {
      let middle = (low + high) / 2
      if prefix < prefixes[middle] { high = middle } else { low = middle + 1 }
    }
    return low == 0 ? nil : low - 1
  }
}
