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
  private var isNeeded = false
  /// Called when the DNS backend's state has changed.
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

  /// The state for these links (indexes and names). `nil`: no tunnel has name servers, and no service is queried.
  package func observe(_ links: [UInt32: String]?) -> ObservedResolver {
    isNeeded = links != nil
    // systemd-resolved is queried only if resolv.conf leads to it.
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

  /// Our servers that resolv.conf may name now, although we did not write it: they are no facts of the network.
  package var ownServers: Set<IPAddress> { resolved.lastServers.union(resolvconf.servers) }

  /// Whether each queried service has answered, or will not.
  package var isSettled: Bool { !isNeeded || !mayLeadToResolved || resolved.isSettled }

  /// Carries out a step that another program has to apply; calls back with the error, or `nil`.
  package func change(_ step: Step, then done: @escaping (String?) -> Void) {
    switch step {
    case .setLinkResolver(let resolver, let link): resolved.set(resolver, link: link, then: done)
    case .revertLinkResolver(let link): resolved.revert(link: link, then: done)
    case .setRecord(let record): resolvconf.set(record, then: done)
    case .removeRecord(let name): resolvconf.remove(name, then: done)
    default: done("it is not a step of the resolver's programs")
    }
  }

  /// Handles a change of a file in `watchedFolders`.
  package func filesChanged() { resolved.refresh() }

  /// Folders in which programs store their settings: systemd-resolved those of links, for which it has no signal.
  package var watchedFolders: [String] {
    isNeeded ? ["/run/systemd/resolve/netif"] + ResolvconfBackend.folders : []
  }

  /// Whether resolv.conf uses systemd-resolved: by a link to one of its files, or by the address of its stub.
  private var mayLeadToResolved: Bool {
    if let target = file.target { return target.contains("/systemd/") }
    guard case .known(let text) = file.underlayText() else { return false }
    return text.contains("127.0.0.53") || text.contains("127.0.0.54")
  }
}
