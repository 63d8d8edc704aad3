package import KernelModel
package import NetworkTypes

/// The observed facts about this host's resolver, from which the DNS backend is chosen.
package struct ResolverFacts: Equatable, Sendable {
  /// The path of the resolver's file: /etc/resolv.conf.
  package var path: String
  /// The target of the symbolic link, as an absolute path; `nil`: it is not a symbolic link.
  package var target: String?
  /// The content without our changes: the program that wrote it, and the servers and domains it names.
  package var original: ResolvConfReport?
  /// Whether systemd-resolved answers.
  package var resolved: Answer<Bool>
  /// The installed implementation of resolvconf(8).
  package var resolvconf: ResolvconfProgram?
  /// Whether resolvconf(8) has a record of ours, and so has to remove it.
  package var hasRecord: Bool
  /// Links of other programs that claim every name from systemd-resolved.
  package var rivals: [String] = []
  /// Whether systemd-resolved validates all answers, unless a link has another setting (`DNSSEC=yes` of resolved.conf(5)).
  package var validates = false
  /// Whether our own name server can run here.
  package var nameServer: Answer<Bool> = .unavailable(reason: HostReports.notAsked)
  /// Whether our own name server has just ended by itself, and is about to be started again.
  package var isNameServerReturning = false
  /// Which services programs of glibc ask for names.
  package var hosts = HostsLookup.usual
  /// Whether the module by which glibc asks systemd-resolved (nss-resolve(8)) is in that line, and installed.
  package var hasResolveModule = false
  /// Servers of this machine in records of resolvconf(8) for the link `lo`: a resolver beside the network's servers, such as dnsmasq.
  package var serversOfLoopbackRecords: [IPAddress] = []

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

/// The observed state of the resolver, besides resolv.conf itself.
package struct ObservedResolver: Equatable, Sendable {
  package var facts: ResolverFacts
  /// The settings in systemd-resolved of the links that were queried, by name; a link that it does not list is absent.
  package var links: [String: LinkResolver]
  /// Links other than WireGuard's own on which this agent has changed settings.
  package var touched: Set<String>
  /// Our records with resolvconf(8).
  package var records: [String: ResolvConf]
  /// The servers that resolv.conf names, whichever program wrote it.
  package var effectiveServers: [IPAddress]
  package var nameServer = ObservedNameServer.absent
  /// The deficiency of our own name server, for people; `nil`: none.
  package var shortage: String?

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

/// The observed state of our own name server.
package enum ObservedNameServer: Equatable, Sendable {
  case absent
  /// It runs with these settings.
  case running(NameServerSettings)
  /// The agent's name server runs; another process does not see its settings.
  case runningElsewhere
}

extension ObservedNameServer {
  /// Whether it listens for the questions that are redirected so.
  package func takes(_ capture: NameCapture) -> Bool {
    if case .running(let settings) = self { settings.capture == capture } else { false }
  }
}
