internal import Glibc
package import KernelModel
internal import LinuxIO
package import NetworkTypes
package import RoamwardCore
package import SystemdIO

/// All methods to set name servers on this host: the file, systemd-resolved, resolvconf(8). `ResolverChoice` selects one at each
/// observation.
package final class HostResolver {
  package let file: ResolvConfBackend
  private let resolved: ResolvedBackend
  private let resolvconf: ResolvconfBackend
  private let nameServer: NameServerBackend
  private let names: NameServiceSwitch
  /// This process is the agent; another one only looks at what the agent's name server does.
  private let isAgent: Bool
  private var isNeeded = false
  /// Called when the DNS backend's state has changed.
  package var changed: () -> Void = {}
  /// Called when a program asks our name server for a name whose tunnel is down.
  package var lookedUp: (WatchedQuestion) -> Void {
    get { nameServer.lookedUp }
    set { nameServer.lookedUp = newValue }
  }

  /// Called when our name server has something to say about answers.
  package var news: (NameNews) -> Void {
    get { nameServer.news }
    set { nameServer.news = newValue }
  }

  /// Finds the server that a captured question was sent to (`names: capture`).
  package var originalServer: (RedirectedFlow) -> (IPAddress, UInt16)? {
    get { nameServer.originalServer }
    set { nameServer.originalServer = newValue }
  }

  /// `path` and `stateDirectory` as of `ResolvConfBackend`. `isAgent`: its name server is a process of this one.
  package convenience init(path: String, stateDirectory: String, on loop: EventLoop, busAddress: String? = nil, isAgent: Bool = true) {
    self.init(path: path, stateDirectory: stateDirectory, on: loop, busAddress: busAddress, isAgent: isAgent, names: NameServiceSwitch())
  }

  init(path: String, stateDirectory: String, on loop: EventLoop, busAddress: String? = nil, isAgent: Bool, names: NameServiceSwitch) {
    self.isAgent = isAgent
    self.names = names
    nameServer = NameServerBackend(on: loop)
    file = ResolvConfBackend(path: path, stateDirectory: stateDirectory)
    resolvconf = ResolvconfBackend(on: loop, path: path, stateDirectory: stateDirectory)
    final class Listener { var heard: () -> Void = {} }
    let listener = Listener()
    resolved = ResolvedBackend(on: loop, busAddress: busAddress) { listener.heard() }
    listener.heard = { [weak self] in self?.changed() }
    nameServer.changed = { listener.heard() }
  }

  /// The files that an observation needs, read at their first use and at most once.
  package func read() -> ResolverReading { ResolverReading(file.read(), records: resolvconf.read, names: names.read) }

  /// The state for these links (indexes and names), by these files. `nil`: no tunnel has name servers, and no service is queried.
  package func observe(_ links: [UInt32: String]?, by reading: ResolverReading? = nil) -> ObservedResolver {
    let reading = reading ?? read()
    let file = reading.file
    isNeeded = links != nil
    // systemd-resolved is queried only if programs may ask it.
    let isAsked = isNeeded && reading.mayLeadToResolved
    resolved.need(isAsked ? links : nil)
    var observed = ObservedResolver(facts: ResolverFacts(path: self.file.path, target: file.target))
    observed.records = reading.records.ours
    let listensAt = reading.leadsToResolved ? NameServerSettings.addressOnLink : NameServerSettings.address
    observed.nameServer = observedNameServer(at: listensAt)
    observed.shortage = nameServer.shortage
    observed.facts.nameServer = isAgent ? nameServer.answer : nameServerFromOutside(at: listensAt)
    observed.facts.isNameServerReturning = nameServer.isReturning
    guard isNeeded || !observed.records.isEmpty else { return observed }
    observed.facts.hosts = reading.names.hosts
    observed.facts.hasResolveModule = reading.names.hasModule
    observed.facts.serversOfLoopbackRecords = reading.records.serversOfLoopback
    if case .known(let text) = file.underlayText { observed.facts.original = ResolvConfReport(parsing: text) }
    observed.facts.resolvconf = resolvconf.program?.kind
    observed.facts.hasRecord = !observed.records.isEmpty
    observed.facts.resolved = isAsked ? resolved.answer : .unavailable(reason: HostReports.notAsked)
    observed.facts.rivals = resolved.rivalLinks
    observed.facts.validates = resolved.dnssec == .yes
    observed.links = resolved.known
    observed.touched = resolved.touchedLinks
    observed.effectiveServers = file.nameServers
    return observed
  }

  /// Our servers that resolv.conf may name now, although we did not write it: they are no facts of the network.
  package func ownServers(by reading: ResolverReading) -> Set<IPAddress> {
    resolved.lastServers.union(reading.records.servers).union([NameServerSettings.address, NameServerSettings.addressOnLink])
  }

  /// The agent's name server; for another process, that at the address where it listens with this DNS backend.
  private func observedNameServer(at address: IPAddress) -> ObservedNameServer {
    if isAgent { return nameServer.settings.map { .running($0) } ?? .absent }
    // For captured names alone it listens at the loopback address, with every DNS backend.
    for address in Set([address, NameServerSettings.address]) {
      guard let owner = PortOwner(of: address, port: 53), owner.address == address else { continue }
      if owner.program.map({ $0.name == NameServerBackend.program }) ?? true { return .runningElsewhere }
    }
    return .absent
  }

  /// Whether the agent's name server runs or could run, for another process.
  private func nameServerFromOutside(at address: IPAddress) -> Answer<Bool> {
    if let taken = NameServerBackend.takenPort(at: address), observedNameServer(at: address) == .absent {
      return .unavailable(reason: taken)
    }
    return nameServer.answer
  }

  /// Whether each queried service has answered, or will not.
  package var isSettled: Bool { !isNeeded || !read().mayLeadToResolved || resolved.isSettled }

  /// Carries out a step that another program has to apply; calls back with the error, or `nil`.
  package func change(_ step: Step, then done: @escaping (String?) -> Void) {
    switch step {
    case .setLinkResolver(let resolver, let link): resolved.set(resolver, link: link, then: done)
    case .revertLinkResolver(let link): resolved.revert(link: link, then: done)
    case .setRecord(let record): resolvconf.set(record, then: done)
    case .removeRecord(let name): resolvconf.remove(name, then: done)
    case .setNameServer(let settings): nameServer.set(settings, then: done)
    case .stopNameServer: nameServer.stop(then: done)
    default: done("it is not a step of the resolver's programs")
    }
  }

  /// Handles a change of a file in `watchedFolders`.
  package func filesChanged() { resolved.refresh() }

  /// Folders in which programs store their settings: systemd-resolved those of links, for which it has no signal.
  package var watchedFolders: [String] {
    isNeeded ? ["/run/systemd/resolve/netif"] + ResolvconfBackend.folders : []
  }
}

/// The content of the files about name servers at one moment. Each is read at its first use, and at most once.
package final class ResolverReading {
  package let file: ResolvConfReading
  /// The records of resolvconf.
  private(set) lazy var records = readRecords()
  fileprivate private(set) lazy var names = readNames()
  private let readRecords: () -> ResolvconfRecords
  private let readNames: () -> (version: [Int], hosts: HostsLookup, hasModule: Bool)

  init(
    _ file: ResolvConfReading, records: @escaping () -> ResolvconfRecords,
    names: @escaping () -> (version: [Int], hosts: HostsLookup, hasModule: Bool)
  ) {
    self.file = file
    readRecords = records
    readNames = names
  }

  /// Whether programs may ask systemd-resolved: by the file, or by glibc's module.
  private(set) lazy var mayLeadToResolved: Bool = names.hasModule || leadsToResolved

  /// Whether the file leads to it: by a link to one of its files, or by the address of its stub.
  private(set) lazy var leadsToResolved: Bool = {
    if let target = file.target { return target.contains("/systemd/") }
    guard case .known(let text) = file.underlayText else { return false }
    return text.contains("127.0.0.53") || text.contains("127.0.0.54")
  }()
}
