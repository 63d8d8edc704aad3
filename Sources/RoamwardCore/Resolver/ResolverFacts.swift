package import KernelModel
package import NetworkTypes

/// Who keeps this host's resolver, as far as can be seen: what the choice of a back end is made from.
package struct ResolverFacts: Hashable, Sendable {
  /// Where the resolver's file is: /etc/resolv.conf.
  package var path: String
  /// Where it leads, as an absolute path; `nil`: it is no symbolic link.
  package var target: String?
  /// What it would say without us: who wrote it, and what it names.
  package var original: ResolvConfReport?
  /// Whether systemd-resolved answers.
  package var resolved: Answer<Bool>
  /// Which resolvconf(8) is installed.
  package var resolvconf: ResolvconfProgram?
  /// It has a record of ours, so it is the one that gives it back.
  package var hasRecord: Bool
  /// Links of others that claim every name from systemd-resolved.
  package var rivals: [String] = []

  package init(
    path: String = "/etc/resolv.conf", target: String? = nil, original: ResolvConfReport? = nil,
    resolved: Answer<Bool> = .unavailable(reason: HostReports.notAsked), resolvconf: ResolvconfProgram? = nil, hasRecord: Bool = false
  ) {
    self.hasRecord = hasRecord
    self.path = path
    self.target = target
    self.original = original
    self.resolved = resolved
    self.resolvconf = resolvconf
  }
}

/// The resolver as far as plans change it, beside resolv.conf itself.
package struct ObservedResolver: Hashable, Sendable {
  package var facts: ResolverFacts
  /// What systemd-resolved has for the links that were asked about, by name; a link that it does not show is absent.
  package var links: [String: LinkResolver]
  /// Links other than WireGuard's own that this agent has set something on.
  package var touched: Set<String>
  /// Our records with resolvconf(8).
  package var records: [String: ResolvConf]
  /// The servers that resolv.conf names, whoever wrote it.
  package var effectiveServers: [IPAddress]

  package init(
    facts: ResolverFacts = ResolverFacts(), links: [String: LinkResolver] = [:], touched: Set<String> = [],
    records: [String: ResolvConf] = [:], effectiveServers: [IPAddress] = []
  ) {
    self.effectiveServers = effectiveServers
    self.facts = facts
    self.links = links
    self.touched = touched
    self.records = records
  }
}
