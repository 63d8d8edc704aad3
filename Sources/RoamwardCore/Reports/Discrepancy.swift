import KernelModel
import NetworkTypes

/// Something on the machine that is not as it is wanted: what ought to be there and is not, what is there and ought not, or the one in the other's place.
package struct Discrepancy: Hashable, Sendable {
  package enum Area: String, Hashable, Sendable {
    case kernel, resolver, firewall
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
  /// The plan read as what it would change, in its order: one entry for each step that stands for an object.
  package func discrepancies(in observed: ObservedState) -> [Discrepancy] {
    let present = Set(observed.kernel.links.map(\.name))
    return steps.compactMap { $0.discrepancy(in: observed, present: present) }
  }
}

extension Step {
  fileprivate func discrepancy(in observed: ObservedState, present: Set<String>) -> Discrepancy? {
    func setting(_ link: String, _ wanted: String, _ found: String?) -> Discrepancy {
      Discrepancy(
        .kernel, wanted: ["link \(link) \(wanted)"], found: present.contains(link) ? found.map { ["link \(link) \($0)"] } ?? [] : [])
    }
    switch self {
    case .addWireGuardLink(let link, let engine):
      return Discrepancy(.kernel, wanted: ["link \(link) (\(engine == .kernel ? "wireguard" : "wireguard in user space"))"])
    case .addDummyLink(let link): return Discrepancy(.kernel, wanted: ["link \(link) (dummy)"])
    case .setAlias(let link, let alias):
      return setting(link, "alias \(alias)", observed.kernel.link(named: link)?.alias.map { "alias \($0)" })
    case .configureWireGuard(let link, _), .renewSessions(let link, _):
      let words = description.split(separator: " ", maxSplits: 3).last.map(String.init) ?? ""
      return setting(link, "wireguard \(words)", "wireguard with other settings")
    case .setMTU(let link, let mtu, let was): return setting(link, "mtu \(mtu)", "mtu \(was)")
    case .addAddress(let address, let link): return Discrepancy(.kernel, wanted: ["address \(address) dev \(link)"])
    case .removeAddress(let address, let link): return Discrepancy(.kernel, found: ["address \(address) dev \(link)"])
    case .setUp(let link): return setting(link, "up", "down")
    case .deleteLink(let link, _): return Discrepancy(.kernel, found: ["link \(link)"])
    case .addRoute(let route): return Discrepancy(.kernel, wanted: ["route \(route)"])
    case .removeRoute(let route): return Discrepancy(.kernel, found: ["route \(route)"])
    case .addRule(let rule): return Discrepancy(.kernel, wanted: ["\(rule.words)"])
    case .removeRule(let rule): return Discrepancy(.kernel, found: ["\(rule.words)"])
    case .replaceFirewall(let table):
      let isThere = if case .table = observed.firewall { true } else { false }
      let name = "table \(FirewallTable.name)"
      return Discrepancy(.firewall, wanted: ["\(name): \(table)"], found: isThere ? ["\(name) with other rules"] : [])
    case .removeFirewall: return Discrepancy(.firewall, found: ["table \(FirewallTable.name)"])
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
    }
  }
}

extension RoutingRule {
  fileprivate var words: String { "\(family == .v6 ? "-6 " : "")rule \(self)" }
}

extension ResolvConf {
  fileprivate var lines: [String] { rendered.split(whereSeparator: \.isNewline).map(String.init) }
}

extension ObservedResolvConf {
  fileprivate var lines: [String] {
    if case .file(let text) = self { text.split(whereSeparator: \.isNewline).map(String.init) } else { [] }
  }
}
