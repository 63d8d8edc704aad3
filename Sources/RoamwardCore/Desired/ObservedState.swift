package import KernelModel

/// What there is: the machine as far as plans change it.
package struct ObservedState: Hashable, Sendable {
  package var kernel: KernelState
  /// WireGuard devices by the names of their links.
  package var wireGuard: [String: WireGuardState]
  package var resolvConf: ObservedResolvConf
  /// Who keeps the resolver beside it, and what of ours they have.
  package var resolver = ObservedResolver()
  /// Names of links that the journal says we were making when an agent died: ours, though they may not carry the alias yet.
  package var unfinishedLinks: Set<String>
  /// The kernel drops IPv4 packets that come in by another way than an answer would go out (`rp_filter` 1, RFC 3704 strict).
  package var isReversePathStrict = false
  package var firewall = ObservedFirewall.absent

  package init(
    kernel: KernelState = KernelState(), wireGuard: [String: WireGuardState] = [:], resolvConf: ObservedResolvConf = .absent,
    unfinishedLinks: Set<String> = []
  ) {
    self.kernel = kernel
    self.wireGuard = wireGuard
    self.resolvConf = resolvConf
    self.unfinishedLinks = unfinishedLinks
  }
}
