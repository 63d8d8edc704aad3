import KernelModel

/// `NFT_MSG_*` of linux/netfilter/nf_tables.h, as far as it is asked without libnftables. With `struct nfgenmsg` of
/// linux/netfilter/nfnetlink.h: family u8, version u8, resource u16.
package enum NftablesMessage {
  /// `NFT_MSG_GETTABLE` of `NFNL_SUBSYS_NFTABLES`.
  package static let getTable: UInt16 = 10 << 8 | 1
  /// `NFT_MSG_NEWGEN` and `NFT_MSG_GETGEN`.
  static let newGeneration: UInt16 = 10 << 8 | 15
  package static let getGeneration: UInt16 = 10 << 8 | 16
  /// `NFTA_GEN_ID`.
  static let generation: UInt16 = 1
  /// `NFTA_TABLE_NAME`.
  static let tableName: UInt16 = 1
  /// `NFPROTO_INET` of linux/netfilter.h.
  static let inet: UInt8 = 1
}

extension NftablesMessage {
  /// The number of the ruleset in an answer to `getGeneration`; `nil`: it is no such answer.
  package static func generation(in message: NetlinkMessage) -> UInt32? {
    guard message.type == newGeneration else { return nil }
    return NetlinkAttributes(message.payload, after: 4).first(generation)?.payload.network32()
  }
}

extension NetlinkWriter {
  /// Requests our table of the family `inet` (`FirewallTable.name`). ENOENT if it does not exist.
  package mutating func getTable(named name: String, sequence: UInt32, flags: UInt16) {
    message(NftablesMessage.getTable, flags: flags, sequence: sequence) { writer in
      writer.raw([NftablesMessage.inet, 0, 0, 0])
      writer.attribute(NftablesMessage.tableName, text: name)
    }
  }

  /// Requests the number of the present ruleset. The answer is followed by an acknowledgement.
  package mutating func getGeneration(sequence: UInt32) {
    message(NftablesMessage.getGeneration, flags: NetlinkMessage.Flag.acknowledge, sequence: sequence) { $0.raw([0, 0, 0, 0]) }
  }
}
