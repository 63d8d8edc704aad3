internal import GatewayCore
internal import GatewayStore
internal import Glibc
internal import KernelModel
internal import KernelNetwork
internal import KeyMemory
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// The gateway's link, its firewall and the connections through it, kept as the store wants them.
final class ServedLink {
  /// The result of a comparison.
  enum Outcome {
    /// The kernel is being made as wanted. `closed`: why it forwards no packets.
    case applied(closed: String?)
    case trouble(String)
    /// Nothing is wanted yet.
    case nothing
  }

  /// The last look at the link.
  private enum Sight {
    /// It was not found as wanted, and may not be so.
    case looked(WireGuardState?)
    /// It was found as wanted, with this engine: the next change of a few devices needs no look at all others.
    case verified(WireGuardState?, WireGuardEngine)

    var device: WireGuardState? {
      switch self {
      case .looked(let device), .verified(let device, _): device
      }
    }
  }

  let kernel: GatewayKernel
  private let folder: StateFolder
  private let loop: EventLoop
  private let followed: FollowedStore
  private let key: SecretKey
  private let firewall: GatewayFirewall
  private let connections: Conntrack
  private var desired = FollowedState()
  private var sight = Sight.looked(nil)
  private var lastOutcome = Outcome.nothing
  /// Devices that are told the end of their sessions.
  private var leaving = LeavingPeers()
  private var leavingTimer: EventSource?

  init(_ folder: StateFolder, on loop: EventLoop, _ followed: FollowedStore, _ key: SecretKey) throws {
    self.folder = folder
    self.loop = loop
    self.followed = followed
    self.key = key
    kernel = try GatewayKernel(folder, on: loop) { GatewayJournal.log($0) }
    firewall = try GatewayFirewall(folder)
    connections = try Conntrack()
  }

  /// The link's device as it is now.
  var presentDevice: WireGuardState? {
    followed.directory.site.flatMap { kernel.device($0.link.description, kernel.engine(of: $0.link.description)) }
  }

  /// The link's device at the last comparison.
  var lastDevice: WireGuardState? { sight.device }

  /// Whether the kernel was as wanted at the last comparison, or after its steps.
  var isApplied: Bool {
    guard case .applied(nil) = lastOutcome, case .verified = sight else { return false }
    return true
  }

  /// Compares the kernel with the store, and makes it so. `retry` is called later if a step takes longer.
  func converge(_ tunnel: TunnelService, retry: @escaping () -> Void) -> Outcome {
    lastOutcome = compare(tunnel, retry: retry)
    return lastOutcome
  }

  private func compare(_ tunnel: TunnelService, retry: @escaping () -> Void) -> Outcome {
    // Until the kernel was seen as wanted.
    sight = .looked(sight.device)
    guard let site = followed.directory.site else {
      return .trouble("the store does not have this gateway any more; nothing is changed")
    }
    let present = kernel.engine(of: site.link.description)
    guard let state = desiredState(present, at: Timestamp.now.wholeSecond) else { return .nothing }
    do {
      // Packets are refused before they can arrive.
      let (before, portsBefore) = (firewall.applied?.sources, firewall.applied?.ownPorts)
      let drift = try firewall.apply(state.table)
      switch drift {
      case .none: break
      case .elements(let changes): logElements(changes)
      case .table: GatewayJournal.log("nft table \(GatewayTable.name): replaced")
      }
      let closed = turnOnForwarding()
      let (plan, device) = try kernel.examine(for: state)
      sight = .looked(device)
      tunnel.look(at: device)
      if let conflict = plan.conflict { return .trouble(conflict) }
      kernel.apply(plan, retry: retry)
      if drift != .none, before.map({ !$0.keys.allSatisfy { state.table.sources[$0] != nil } }) ?? true {
        forgetConnections(refusedBy: state)
      }
      // Flows that are on these ports already: of another setting, or of an earlier version.
      if portsBefore != state.table.ownPorts { forgetShadows(of: state) }
      tunnel.open(on: state.link)
      try verify(plan, state, present)
      return .applied(closed: closed)
    } catch { return .trouble("\(error)") }
  }

  private func desiredState(_ engine: WireGuardEngine, at now: Timestamp) -> GatewayState? {
    guard let site = followed.directory.site else { return nil }
    var state =
      followed.isStale
      ? GatewayState(followed.directory.withoutDevices, privateKey: key, engine: engine, at: now)
      : desired.state(of: followed.directory, privateKey: key, engine: engine, at: now)
    state?.table.ownPorts = folder.ownPorts(site)
    if let peers = state?.device.peers, !leaving.isEmpty { state?.device.peers = leaving.joined(to: peers) }
    return state
  }

  /// Looks again after a plan's steps.
  private func verify(_ plan: GatewayPlan, _ state: GatewayState, _ engine: WireGuardEngine) throws(NetlinkError) {
    if plan.steps.isEmpty { return sight = .verified(sight.device, engine) }
    let (rest, device) = try kernel.examine(for: state)
    sight = rest.steps.isEmpty ? .verified(device, engine) : .looked(device)
  }

  /// Returns why packets are not forwarded: the unit has /proc/sys read-only, and turns forwarding on before the gateway's start.
  private func turnOnForwarding() -> String? {
    let closed = folder.forwards ? followed.directory.families.filter { !Forwarding.isOn($0) } : []
    do throws(SystemError) {
      for family in closed {
        try Forwarding.turnOn(family)
        GatewayJournal.log("sysctl \(Forwarding.name(family))=1")
      }
      return nil
    } catch {
      let names = closed.map(Forwarding.name)
      let cure = Container.cure(
        names.map { "--sysctl \($0)=1" }.joined(separator: " "), onMachine: "run `roamward-gateway serve --forwarding`")
      return "the kernel forwards no packets (\(names.joined(separator: ", "))): \(cure)"
    }
  }

  private func logElements(_ changes: String) {
    if !changes.isEmpty { GatewayJournal.log(changes.split(whereSeparator: \.isNewline).joined(separator: "; ")) }
  }
}

// Changes of a few devices.
extension ServedLink {
  /// Follows what was read of the store.
  func follow(_ reading: FollowedStore.Reading) {
    if !reading.update.isEmpty { desired.follow(reading.change, at: reading.time) }
  }

  /// Applies the differences of a few devices, where the link is known to be as wanted before. Returns whether nothing else was to do.
  func apply(_ change: DeviceChange) -> Bool {
    guard case .verified(_, let engine) = sight, let site = followed.directory.site, case .devices = change.reach,
      let after = change.after, firewall.applied?.ownPorts == folder.ownPorts(site)
    else { return false }
    if change.before == after { return true }
    do {
      guard let changes = try firewall.replace(change.before.table, with: after.table) else { return false }
      logElements(changes)
    } catch {
      GatewayJournal.log("\(error)")
      return false
    }
    defer { forgetConnections(of: Set(change.before.table.sources.keys).subtracting(after.table.sources.keys)) }
    _ = leaving.joined(to: after.peers)
    return kernel.change(
      site.link.description, from: change.before.peers, to: after.peers + leaving.among(change.before.peers), of: device(site, engine))
  }

  private func device(_ site: Site, _ engine: WireGuardEngine) -> WireGuardDevice {
    WireGuardDevice(engine: engine, privateKey: key, publicKey: site.publicKey, listenPort: site.endpoint.port)
  }

  /// Before devices are told the end of their sessions. Their peers go once that has left.
  func beginLeaving(_ keys: Set<WireGuardKey>) {
    leaving.begin(keys, presentDevice, at: .now)
    awaitLeaving()
  }

  private func awaitLeaving() {
    guard leavingTimer == nil, !leaving.isEmpty else { return }
    leavingTimer = try? loop.at(.now + LeavingPeers.interval) { [weak self] in self?.removeLeaving() }
  }

  private func removeLeaving() {
    leavingTimer = nil
    guard let site = followed.directory.site else { return }
    let gone = leaving.look(at: presentDevice, .now)
    if !gone.isEmpty {
      // The next comparison removes a peer for which this fails.
      let link = site.link.description
      _ = kernel.change(link, from: gone, to: [], of: device(site, kernel.engine(of: link)))
    }
    awaitLeaving()
  }
}

// Connections.
extension ServedLink {
  /// Makes connections of devices that may not connect any more end for good: they do not go on when the addresses may connect again.
  /// The firewall refuses their packets already, so none comes back meanwhile.
  private func forgetConnections(of addresses: Set<IPAddress>) {
    if addresses.isEmpty { return }
    do throws(NetlinkError) { try connections.forgetConnections(of: addresses) } catch { GatewayJournal.log("\(error)") }
  }

  private func forgetConnections(refusedBy state: GatewayState) {
    do throws(NetlinkError) {
      try connections.forgetConnections { state.isRefused($0) || state.isRefused($1) }
    } catch { GatewayJournal.log("\(error)") }
  }

  private func forgetShadows(of state: GatewayState) {
    do throws(NetlinkError) {
      try connections.forgetConnections(
        from: state.table.translated + state.table.routed, translatedTo: Set(state.table.ownPorts.ports))
    } catch { GatewayJournal.log("\(error)") }
  }
}
