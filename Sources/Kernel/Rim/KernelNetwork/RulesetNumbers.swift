import Wire

/// The numbers that the kernel gives its rulesets of nftables, in the namespace of the thread that created this.
package struct RulesetNumbers {
  private let socket: NetlinkSocket

  package init() throws(NetlinkError) { socket = try NetlinkSocket(.netfilter, receiveBuffer: 1 << 16) }

  /// The number of the present one; `nil`: the kernel does not answer.
  package var present: UInt32? {
    var number: UInt32?
    do throws(NetlinkError) {
      try socket.dump("read the number of the ruleset", { $0.getGeneration(sequence: $1) }) {
        number = number ?? NftablesMessage.generation(in: $0)
      }
    } catch { return nil }
    return number
  }
}
