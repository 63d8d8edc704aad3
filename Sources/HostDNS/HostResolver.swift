internal import Glibc
package import KernelModel
internal import LinuxIO
package import NetworkTypes
package import RoamwardCore
package import SystemdIO

/// All by which name servers can be set on this host: the file, systemd-resolved, resolvconf(8). Which of them counts is decided elsewhere,
/// anew at each look (`ResolverChoice`).
package final class HostResolver {
  package let file: ResolvConfBackend
  private let resolved: ResolvedBackend
  private let resolvconf: ResolvconfBackend
  private var isNeeded = false
  /// Whoever keeps the resolver has something else than before.
  package var changed: () -> Void = {}

  /// `path` and `stateDirectory` as of `ResolvConfBackend`.
  package init(path: String, stateDirectory: String, on loop: EventLoop, busAddress: String? = nil) {
    file = ResolvConfBackend(path: path, stateDirectory: stateDirectory)
    resolvconf = ResolvconfBackend(on: loop, path: path, stateDirectory: stateDirectory)
    final class Listener { var heard: () -> Void = {} }
    let listener = Listener()
    resolved = ResolvedBackend(on: loop, busAddress: busAddress) { listener.heard() }
    listener.heard = { [weak self] in self?.changed() }
  }

  /// What there is, for these links (indexes and names). `nil`: no tunnel brings name servers, and nobody is asked.
  package func observe(_ links: [UInt32: String]?) -> ObservedResolver {
    isNeeded = links != nil
    // Where no program comes to it, it is not asked.
    let isAsked = isNeeded && mayLeadToResolved
    resolved.need(isAsked ? links : nil)
    var observed = ObservedResolver(facts: ResolverFacts(path: file.path, target: file.target))
    observed.records = resolvconf.records
    guard isNeeded || !observed.records.isEmpty else { return observed }
    if case .known(let text) = file.underlayText() { observed.facts.original = ResolvConfReport(parsing: text) }
    observed.facts.resolvconf = resolvconf.program?.kind
    observed.facts.hasRecord = !observed.records.isEmpty
    observed.facts.resolved = isAsked ? resolved.answer : .unavailable(reason: HostReports.notAsked)
    observed.facts.rivals = resolved.rivalLinks
    observed.links = resolved.known
    observed.touched = resolved.touchedLinks
    observed.effectiveServers =
      (try? TextFile.read(file.path)).map { ResolvConf(parsing: String(decoding: $0, as: UTF8.self)).nameServers } ?? []
    return observed
  }

  /// Servers of ours that resolv.conf may name now, though we did not write it: they say nothing about the network.
  package var ownServers: Set<IPAddress> { resolved.lastServers.union(resolvconf.servers) }

  /// Everybody who was asked has answered, or will not.
  package var isSettled: Bool { !isNeeded || !mayLeadToResolved || resolved.isSettled }

  /// Carries out a step that another program has to take; calls back with what went wrong, or `nil`.
  package func change(_ step: Step, then done: @escaping (String?) -> Void) {
    switch step {
    case .setLinkResolver(let resolver, let link): resolved.set(resolver, link: link, then: done)
    case .revertLinkResolver(let link): resolved.revert(link: link, then: done)
    case .setRecord(let record): resolvconf.set(record, then: done)
    case .removeRecord(let name): resolvconf.remove(name, then: done)
    default: done("it is not a step of the resolver's programs")
    }
  }

  /// A file of `watchedFolders` has changed.
  package func filesChanged() { resolved.refresh() }

  /// Where programs keep what they were told: systemd-resolved the links' settings, which no signal tells of.
  package var watchedFolders: [String] {
    isNeeded ? ["/run/systemd/resolve/netif"] + ResolvconfBackend.folders : []
  }

  /// By a link to one of its files, or by the address of its stub.
  private var mayLeadToResolved: Bool {
    if let target = file.target { return target.contains("/systemd/") }
    guard case .known(let text) = file.underlayText() else { return false }
    return text.contains("127.0.0.53") || text.contains("127.0.0.54")
  }
}
