internal import AgentCore
internal import KernelModel
internal import KernelNetwork
internal import LinuxIO
internal import NetworkTypes
internal import ProviderGroups
internal import RoamwardCore
internal import SystemdIO

/// The kernel's firewall as far as it is ours: the table of kill switches and guards, and that of captured names. The library is loaded at
/// its first use, because most machines never need it.
package final class MachineFirewall {
  private let loop: EventLoop
  private let groups: ProviderGroups
  private(set) lazy var backend: NftablesBackend? = try? open()
  private var listingTimer: EventSource?
  /// The ruleset that was observed after steps, and from which the next plan was made.
  private var plannedRuleset: UInt32?

  init(on loop: EventLoop, _ groups: ProviderGroups) {
    self.loop = loop
    self.groups = groups
  }

  // MARK: Observe

  func observe(_ detail: FirewallDetail) -> ObservedFirewall {
    observe(detail, FirewallTable.kernelName) { $0.observe(trusting: $1) }
  }

  func observeCapture(_ detail: FirewallDetail) -> ObservedFirewall {
    observe(detail, NameCapture.kernelName) { $0.observeCapture(trusting: $1) }
  }

  private func observe(
    _ detail: FirewallDetail, _ table: String, _ read: (NftablesBackend, _ isTrusting: Bool) -> ObservedFirewall
  ) -> ObservedFirewall {
    switch detail {
    case .nothing: .absent
    // Without the library: it takes a megabyte.
    case .leftover where NftablesBackend.isSurelyAbsent(table): .absent
    case .leftover, .name, .whole: backend.map { read($0, detail == .name) } ?? .absent
    }
  }

  /// The next plan is made from what was just observed in this detail.
  func isPlanned(_ detail: FirewallDetail) { plannedRuleset = detail == .whole ? backend?.observedRuleset : nil }

  /// Whether announcements of changed tables until now are of changes that a plan has covered: our own ones above all.
  package var isAsPlanned: Bool { plannedRuleset != nil && plannedRuleset == backend?.presentRuleset }

  /// Our table, for read-only use.
  var observed: ObservedFirewall { backend?.observe(trusting: true) ?? .unknown(reason: "cannot load libnftables") }

  /// Tables of others that drop what ours lets through.
  var closedTables: [ClosedTable] { backend.map(\.closedTables) ?? [] }

  // MARK: Change

  func replace(_ table: FirewallTable) throws(NftablesError) {
    try required.replace(table)
    storeListingsLater()
  }

  func remove() throws(NftablesError) { try required.remove() }

  func replace(_ capture: NameCapture) throws(NftablesError) {
    try required.replace(capture)
    storeListingsLater()
  }

  func removeCapture() throws(NftablesError) { try required.removeCapture() }

  /// Reads the listing of a replaced table later, so that packets that waited for the replacement go first.
  private func storeListingsLater() {
    guard let backend, backend.isUnlisted else { return }
    listingTimer = try? loop.at(.now + .milliseconds(100)) { [weak self] in
      backend.storeListings()
      self?.listingTimer = nil
    }
    if listingTimer == nil { backend.storeListings() }
  }

  private var required: NftablesBackend {
    get throws(NftablesError) {
      if let backend { return backend }
      let opened = try open()
      backend = opened
      return opened
    }
  }

  func open() throws(NftablesError) -> NftablesBackend {
    let backend = try NftablesBackend()
    backend.groupFolder = { [groups] in groups.descriptor(of: $0) }
    return backend
  }
}
