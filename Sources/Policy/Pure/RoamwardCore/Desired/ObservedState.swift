package import KernelModel
package import NetworkTypes

/// The observed state: the part of the machine that plans change.
package struct ObservedState: Equatable, Sendable {
  package var kernel: KernelState
  /// WireGuard devices by the names of their links.
  package var wireGuard: [String: WireGuardState]
  package var resolvConf: ObservedResolvConf
  /// The DNS backend's state besides resolv.conf, with our settings in it.
  package var resolver = ObservedResolver()
  /// Names of links that an agent was making when it died, according to its notes: ours, though they may not carry the alias yet.
  package var unfinishedLinks: Set<String>
  /// Whether strict reverse path filtering is on: the kernel drops IPv4 packets that arrive by another link than an answer would take
  /// (`rp_filter` 1, RFC 3704 strict).
  package var isReversePathStrict = false
  /// Families that this machine has switched off (`net.ipv6.conf.default.disable_ipv6`): new links get no addresses of them.
  package var familiesOff: Set<IPAddress.Family> = []
  package var firewall = ObservedFirewall.absent
  /// The table that redirects DNS questions to our own name server.
  package var nameCapture = ObservedFirewall.absent
  /// The script at the address of proxies, and the programs that have the address.
  package var proxies = ObservedProxies()
  /// The control group in which sockets of providers are marked.
  package var providers = ProviderGroupState.unexamined

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
