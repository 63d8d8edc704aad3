internal import NetworkTypes

/// The lists of addresses that several rules of a table compare packets with. A long one is a set of the table, which the kernel has once
/// for all of these rules; two that are equal are one. Its name follows from its content, so that a later table can keep it.
struct FirewallSets {
  enum List: Hashable {
    /// The prefixes that may flow outside (`FirewallTable.excluded`).
    case excluded
    /// The prefixes that may not.
    case guarded
    /// The destinations of the tunnel at this place of `insides`.
    case inside(Int)
  }

  /// The most prefixes that each rule has by itself.
  private static let longest = 8

  /// The operands of `ip daddr`, by the list and the family.
  private var operands: [List: [IPAddress.Family: Operand]] = [:]
  /// The prefixes of each set, by its name.
  private(set) var named: [String: [IPPrefix]] = [:]

  private enum Operand {
    case everything
    /// A set: its name, or its elements.
    case set(String)
  }

  init(of table: FirewallTable) {
    let guarded = table.guards.count == 1 ? table.guards[0].prefixes : PrefixList(table.guards.flatMap(\.prefixes.all))
    var lists: [(List, PrefixList)] = [(.excluded, table.excluded), (.guarded, guarded)]
    lists += table.insides.indices.map { (.inside($0), table.insides[$0].prefixes ?? []) }
    for (list, prefixes) in lists {
      for family in IPAddress.Family.allCases {
        let own = prefixes.aggregated(family)
        if own.isEmpty { continue }
        let isEverything = list == .guarded && own == [.everything(family)]
        operands[list, default: [:]][family] = isEverything ? .everything : .set(operand(of: own))
      }
    }
  }

  private mutating func operand(of prefixes: [IPPrefix]) -> String {
    guard prefixes.count > Self.longest else { return Self.elements(prefixes) }
    var digest = FNV1a()
    for prefix in prefixes {
      for word in [prefix.address.high, prefix.address.low, UInt64(prefix.length)] {
        for shift in stride(from: 0, to: 64, by: 8) { digest.add(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
      }
    }
    var name = "prefixes_" + String(digest.value, radix: 16)
    // A server that brings prefixes can choose them for a digest that others have.
    while let other = named[name], other != prefixes { name += "_" }
    named[name] = prefixes
    return "@" + name
  }

  /// A set as nft(8) reads it in its table.
  func declaration(of name: String) -> String {
    let prefixes = named[name] ?? []
    let type = prefixes.first?.family == .v6 ? "ipv6_addr" : "ipv4_addr"
    return "  set \(name) {\n    type \(type); flags constant, interval;\n    elements = \(Self.elements(prefixes))\n  }"
  }

  private static func elements(_ prefixes: [IPPrefix]) -> String { "{ \(prefixes.map(\.description).joined(separator: ", ")) }" }

  /// The conditions of packets to the addresses of a list, or from them: one of each family that the list has.
  func matches(_ list: List, outgoing: Bool) -> [String] {
    IPAddress.Family.allCases.compactMap { family in
      switch operands[list]?[family] {
      case .everything: "meta nfproto \(family == .v4 ? "ipv4" : "ipv6")"
      case .set(let operand): "\(family == .v4 ? "ip" : "ip6") \(outgoing ? "daddr" : "saddr") \(operand)"
      case nil: nil
      }
    }
  }
}
