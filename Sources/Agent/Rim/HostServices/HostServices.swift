package import KernelModel
internal import LinuxIO
internal import NetworkTypes
package import RoamwardCore
package import SystemdIO

/// The reports of this host's programs on the network: systemd-resolved and NetworkManager over the bus, the others by their files.
///
/// Services that are not needed are not queried, matched or watched: without a need there is no connection to the bus. Their state is
/// stored and refreshed by signals, so reading it never blocks. Files are read each time, because they are small and watched.
package final class HostServices {
  private let loop: EventLoop
  private let files: HostFiles
  private let busAddress: String?
  private let changed: (_ isFirst: Bool) -> Void
  private var bus: SystemBus?
  private var resolved: BusService<[UInt32: LinkDNS]>?
  private var networkManager: BusService<NetworkManagerReport>?
  private var facts: Set<FactKind> = []
  private var hearsSleep = false
  /// Whether the services are being opened: the caller reads them next, so facts known at once are no change.
  private var isOpening = false
  private var indexes: [UInt32] = []
  /// Called when the machine goes to sleep (`true`) or wakes (`false`), as systemd-logind reports.
  package var slept: (Bool) -> Void = { _ in }

  /// `changed`: a queried service reports something else, or answers for the first time. `root`: the prefix of files' paths.
  package init(on loop: EventLoop, busAddress: String? = nil, root: String = "", changed: @escaping (_ isFirst: Bool) -> Void = { _ in }) {
    self.loop = loop
    self.busAddress = busAddress
    files = HostFiles(root: root)
    self.changed = changed
  }

  /// Queries the sources of these facts from now on, and no others. `sleep`: also subscribes to sleep and wake-up.
  package func need(_ facts: Set<FactKind>, sleep: Bool = false) {
    let facts = isOfThisNetwork ? facts.intersection(.ofHostServices) : []
    guard facts != self.facts || sleep != hearsSleep else { return }
    let before = (self.facts, hearsSleep)
    (self.facts, hearsSleep) = (facts, sleep)
    // Subscriptions last as long as a connection: other needs require another connection.
    guard sources(before.0) != sources(facts) || before.1 != sleep else { return }
    bus?.disconnect()
    bus = nil
    resolved = nil
    networkManager = nil
    isOpening = true
    if !facts.isEmpty || sleep { openBus() }
    isOpening = false
  }

  /// Whether every queried service has answered, or will not.
  package var isSettled: Bool { (resolved?.isSettled ?? true) && (networkManager?.isSettled ?? true) }

  /// The reports of all services about these links, now.
  package func reports(about links: [Link], resolvConf: Answer<ResolvConfReport>) -> HostReports {
    guard isOfThisNetwork else {
      let reason = "it speaks for another network namespace than this one"
      return HostReports(resolved: .unavailable(reason: reason), networkManager: .unavailable(reason: reason), resolvConf: resolvConf)
    }
    var reports = HostReports(resolvConf: resolvConf)
    if let resolved {
      reports.resolved = resolved.answer
      reports.resolvedAt = resolved.confirmed
    }
    if let networkManager {
      reports.networkManager = networkManager.answer
      reports.networkManagerAt = networkManager.confirmed
    }
    indexes = links.map(\.index.value)
    guard needsFiles else { return reports }
    reports.networkd = files.networkd(indexes)
    reports.resolvconf = files.resolvconf
    reports.leases = files.leases
    return reports
  }

  /// Folders and files whose changes matter, for the links of the last reports.
  package var watched: (folders: [String], files: [String]) { needsFiles ? files.watched(indexes) : ([], []) }

  /// Handles a change of a `watched` file. systemd-resolved has no signal for domains, but writes them to its resolv.conf.
  package func filesChanged() { resolved?.refreshSoon() }

  // MARK: The bus

  private var needsFiles: Bool { !facts.isDisjoint(with: [.dnsServers, .searchDomains, .metered]) }

  /// Whether the resolver and the manager have to be queried.
  private func sources(_ facts: Set<FactKind>) -> [Bool] { [!facts.isDisjoint(with: [.dnsServers, .searchDomains]), !facts.isEmpty] }

  private func openBus() {
    let bus = SystemBus(on: loop, address: busAddress)
    self.bus = bus
    let asked = sources(facts)
    let changed = { [weak self] (isFirst: Bool) in if let self, !isOpening { self.changed(isFirst) } }
    if asked[0] {
      resolved = BusService(Self.resolvedQuestion, on: bus, loop: loop, read: { $0.first.flatMap(resolvedLinks) }, changed: changed)
    }
    if asked[1] {
      networkManager = BusService(
        Self.networkManagerQuestion, on: bus, loop: loop, read: { $0.first.flatMap(networkManagerReport) }, changed: changed)
    }
    bus.opened = { [weak self, weak bus] in
      self?.resolved?.busOpened()
      self?.networkManager?.busOpened()
      if self?.hearsSleep == true {
        bus?.match(Self.sleepSignal) { values in if let isAsleep = values.first?.bool { self?.slept(isAsleep) } }
      }
    }
    bus.closed = { [weak self] reason in
      self?.resolved?.busClosed(reason)
      self?.networkManager?.busClosed(reason)
    }
    bus.connect()
  }

  private static let sleepSignal =
    "type='signal',sender='org.freedesktop.login1',path='/org/freedesktop/login1',interface='org.freedesktop.login1.Manager',member='PrepareForSleep'"

  private static let properties = "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'"

  private static var resolvedQuestion: BusService<[UInt32: LinkDNS]>.Question {
    .init(
      service: "org.freedesktop.resolve1", path: "/org/freedesktop/resolve1", interface: "org.freedesktop.DBus.Properties",
      method: "GetAll", arguments: ["org.freedesktop.resolve1.Manager"],
      signals: ["path='/org/freedesktop/resolve1',\(properties)"])
  }

  /// Queries all objects, with signals of relevant changes only: scans and counters have interfaces of their own.
  private static var networkManagerQuestion: BusService<NetworkManagerReport>.Question {
    let root = "org.freedesktop.NetworkManager"
    return .init(
      service: root, path: "/org/freedesktop", interface: "org.freedesktop.DBus.ObjectManager", method: "GetManagedObjects",
      signals: [root, "\(root).Device", "\(root).IP4Config", "\(root).IP6Config"].map { "\(properties),arg0='\($0)'" })
  }

  private lazy var isOfThisNetwork: Bool = {
    if busAddress != nil { return true }
    return isNetworkOfFirstProcess()
  }()
}
