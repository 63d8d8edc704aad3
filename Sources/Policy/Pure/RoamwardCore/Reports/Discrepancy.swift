import KernelModel
import NetworkTypes

/// One item of drift: a wanted object that is missing, an object that is not wanted, or one object in place of another.
package struct Discrepancy: Equatable, Sendable {
  package enum Area: String, Equatable, Sendable, CaseIterable {
    /// Links, addresses, routes and rules.
    case kernel
    /// Settings of the resolver.
    case resolver
    /// Tables of nftables.
    case firewall
    /// The address of proxies, and the programs that have it.
    case proxies
    /// Providers that run or do not run, against the policies.
    case provider
  }

  package var area: Area
  package var wanted: [String]
  package var found: [String]

  package init(_ area: Area, wanted: [String] = [], found: [String] = []) {
    self.area = area
    self.wanted = wanted
    self.found = found
  }
}

extension Plan {
  /// The drift that the plan would revert, in its order: one entry for each step that stands for an object.
  package func discrepancies(in observed: ObservedState) -> [Discrepancy] {
    let present = Set(observed.kernel.links.map(\.name))
    return steps.compactMap { $0.discrepancy(in: observed, present: present) }
  }
}

extension PlanPreview {
  /// The drift that the plan would revert, and the providers that do not run as the policies say.
  package var discrepancies: [Discrepancy] {
    plan.discrepancies(in: observed)
      + actions.map { action in
        let line = "provider of \(action.description)"
        return action.isStart ? Discrepancy(.provider, wanted: [line]) : Discrepancy(.provider, found: [line])
      }
  }
}

extension Step {
  /// The drift that the step would revert. Only steps that replace an object look up the present one.
  fileprivate func discrepancy(in observed: ObservedState, present: Set<String>) -> Discrepancy? {
    switch self {
    case .setAlias(let link, _):
      let alias = observed.kernel.link(named: link)?.alias
      return Discrepancy(.kernel, wanted: [object ?? description], found: alias.map { ["link \(link) alias \($0)"] } ?? [])
    case .replaceFirewall:
      let isThere = if case .table = observed.firewall { true } else { false }
      let name = "table \(FirewallTable.name)"
      return Discrepancy(.firewall, wanted: [object ?? description], found: isThere ? ["\(name) with other rules"] : [])
    case .writeResolvConf(let file):
      return Discrepancy(
        .resolver, wanted: file.lines.map { "resolv.conf \($0)" }, found: observed.resolvConf.lines.map { "resolv.conf \($0)" })
    case .restoreResolvConf:
      return Discrepancy(.resolver, wanted: ["resolv.conf as it was before"], found: observed.resolvConf.lines.map { "resolv.conf \($0)" })
    case .setLinkResolver(let resolver, let link):
      let found = observed.resolver.links[link].flatMap { $0.isEmpty ? nil : $0 }
      return Discrepancy(
        .resolver, wanted: ["systemd-resolved \(link) \(resolver)"], found: found.map { ["systemd-resolved \(link) \($0)"] } ?? [])
    case .revertLinkResolver(let link):
      return Discrepancy(.resolver, found: observed.resolver.links[link].map { ["systemd-resolved \(link) \($0)"] } ?? [])
    case .setRecord(let record):
      let found = observed.resolver.records[record.name].map { $0.lines.map { "resolvconf \(record.name) \($0)" } } ?? []
      return Discrepancy(.resolver, wanted: record.content.lines.map { "resolvconf \(record.name) \($0)" }, found: found)
    case .removeRecord(let name):
      let found = observed.resolver.records[name].map { $0.lines.map { "resolvconf \(name) \($0)" } } ?? []
      return Discrepancy(.resolver, found: found.isEmpty ? ["resolvconf \(name)"] : found)
    case .setNameServer(let settings):
      let found = if case .running(let present) = observed.resolver.nameServer { ["roamward-names \(present)"] } else { [String]() }
      return Discrepancy(.resolver, wanted: ["roamward-names \(settings)"], found: found)
    case .stopNameServer: return Discrepancy(.resolver, found: ["roamward-names"])
    case .setProxies(let publication):
      return Discrepancy(.proxies, wanted: ["\(ProxyPublication.url) \(publication)"], found: observed.proxies.lines)
    case .removeProxies: return Discrepancy(.proxies, found: observed.proxies.lines)
    case .setNameCapture:
      let isThere = if case .table = observed.nameCapture { true } else { false }
      return Discrepancy(
        .firewall, wanted: [object ?? description], found: isThere ? ["table \(NameCapture.name) with other rules"] : [])
    default:
      let traits = traits
      let area = traits.executor == .firewall ? Discrepancy.Area.firewall : .kernel
      if traits.takesAway { return Discrepancy(area, found: [object ?? description]) }
      let isThere = traits.link.map(present.contains) ?? false
      return Discrepancy(area, wanted: [object ?? description], found: isThere ? objectBefore.map { [$0] } ?? [] : [])
    }
  }
}

extension ObservedProxies {
  fileprivate var lines: [String] {
    let served =
      switch server {
      case .absent, .unavailable: [String]()
      case .elsewhere: [ProxyPublication.url]
      case .serving(let script): ["\(ProxyPublication.url) \(script)"]
      }
    return served + remains.sorted().map { "the address of proxies in \($0.rawValue)" }
  }
}

extension ResolvConf {
  fileprivate var lines: [String] { rendered.split(whereSeparator: \.isNewline).map(String.init) }
}

extension ObservedResolvConf {
  fileprivate var lines: [String] {
    if case .file(let text) = self { text.split(whereSeparator: \.isNewline).map(String.init) } else { [] }
  }
}
