/// Prefixes in their written order, and indexes of them for questions about all: made once, and shared by copies. A tunnel has up to
/// hundreds of thousands, and each pass of the agent asks dozens of questions.
public struct PrefixList: Hashable, Sendable {
  private let known: Known

  private static let none = Known([])

  public init(_ prefixes: [IPPrefix]) { known = prefixes.isEmpty ? Self.none : Known(prefixes) }

  /// All of them, in their own order, repetitions included.
  public var all: [IPPrefix] { known.all }

  /// Each once, from the least to the greatest.
  public var ascending: [IPPrefix] { known.ascending }

  /// The addresses in them.
  public var cover: PrefixCover { known.cover }

  /// The fewest prefixes with the same addresses of a family, in ascending order.
  public func aggregated(_ family: IPAddress.Family) -> [IPPrefix] { family == .v4 ? known.fewestV4 : known.fewestV6 }

  /// Whether any is of this family.
  public func has(_ family: IPAddress.Family) -> Bool { !aggregated(family).isEmpty }

  /// Whether they contain every address of the family: in one prefix, in two halves, or in any other pieces.
  public func coverEverything(of family: IPAddress.Family) -> Bool { aggregated(family) == [.everything(family)] }

  /// Whether they contain every address of some family.
  public var coverEverything: Bool { IPAddress.Family.allCases.contains { coverEverything(of: $0) } }

  /// Whether one of them contains all of this one.
  public func hold(_ prefix: IPPrefix) -> Bool { known.cover.contains(prefix) }

  /// Whether one of them contains the address.
  public func hold(_ address: IPAddress) -> Bool { known.cover.contains(.host(address)) }

  /// Whether this very prefix is among them.
  public func contains(_ prefix: IPPrefix) -> Bool {
    let place = known.ascending.partitioningIndex { $0 >= prefix }
    return place < known.ascending.count && known.ascending[place] == prefix
  }

  public static func == (a: Self, b: Self) -> Bool { a.known === b.known || a.known.all == b.known.all }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(known.all.count)
    hasher.combine(known.all.first)
    hasher.combine(known.all.last)
  }

  private final class Known: Sendable {
    let all: [IPPrefix]
    let ascending: [IPPrefix]
    let cover: PrefixCover
    let fewestV4: [IPPrefix]
    let fewestV6: [IPPrefix]

    init(_ all: [IPPrefix]) {
      self.all = all
      ascending = all.ascending
      cover = PrefixCover(ascending: ascending)
      let firstV6 = cover.prefixes.partitioningIndex { $0.family == .v6 }
      fewestV4 = Array(cover.prefixes[..<firstV6]).joiningHalves
      fewestV6 = Array(cover.prefixes[firstV6...]).joiningHalves
    }
  }
}

extension PrefixList: RandomAccessCollection, ExpressibleByArrayLiteral {
  public init(arrayLiteral prefixes: IPPrefix...) { self.init(prefixes) }

  public var startIndex: Int { 0 }
  public var endIndex: Int { known.all.count }
  public subscript(place: Int) -> IPPrefix { known.all[place] }

  public static func + (list: Self, more: some Sequence<IPPrefix>) -> Self {
    let more = Array(more)
    return more.isEmpty ? list : PrefixList(list.all + more)
  }

  public static func += (list: inout Self, more: some Sequence<IPPrefix>) { list = list + more }
}

extension [IPPrefix] {
  /// Each once, from the least to the greatest; itself where it is so already.
  package var ascending: [IPPrefix] {
    var place = 1
    while place < count, self[place - 1] < self[place] { place += 1 }
    if place >= count { return self }
    var sorted = self
    sorted.sort()
    var kept: [IPPrefix] = []
    kept.reserveCapacity(sorted.count)
    for prefix in sorted where prefix != kept.last { kept.append(prefix) }
    return kept
  }

  /// Of prefixes in ascending order that do not overlap: those with the same addresses, with the two halves of a prefix as that prefix.
  var joiningHalves: [IPPrefix] {
    var kept: [IPPrefix] = []
    kept.reserveCapacity(count)
    for prefix in self {
      kept.append(prefix)
      while kept.count > 1, let both = kept[kept.count - 2].merged(with: kept[kept.count - 1]) {
        kept.removeLast(2)
        kept.append(both)
      }
    }
    return kept
  }

  /// The first place from which on a condition holds that holds for none before and all after it; `count` if there is none.
  fileprivate func partitioningIndex(where holds: (IPPrefix) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
