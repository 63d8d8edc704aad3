/// nftables tables of other programs that drop outgoing packets by default: kill switches of other products, and hardened servers.
package struct ClosedTable: Equatable, Sendable {
  /// The name as nft(8) writes it: `inet mullvad`.
  package var name: String
  package var chain: String

  package init(name: String, chain: String) {
    self.name = name
    self.chain = chain
  }

  /// Parses the output of `nft list chains`. Our tables are not included: they accept by default.
  package static func all(in listing: String) -> [ClosedTable] {
    var (table, chain) = ("", "")
    return listing.split(separator: "\n").compactMap { line in
      let words = line.split { $0 == " " || $0 == "\t" || $0 == ";" }
      switch words.first {
      case "table": table = words.dropFirst().prefix(2).joined(separator: " ")
      case "chain": chain = words.dropFirst().first.map(String.init) ?? ""
      case "type":
        let isClosed = words.contains("filter") && words.contains("output") && words.suffix(2).elementsEqual(["policy", "drop"])
        if isClosed { return ClosedTable(name: table, chain: chain) }
      default: break
      }
      return nil
    }
  }
}
