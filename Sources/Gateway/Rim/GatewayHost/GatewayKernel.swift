package import GatewayCore
package import KernelModel
package import KernelNetwork
internal import KeyMemory
internal import LinuxIO
internal import NetworkTypes
package import SystemdIO
internal import TunnelProviders

/// The gateway's link in the kernel: read, planned, applied. Its engine is the kernel's WireGuard, or `roamward-wireguard` where the kernel
/// has none. Either goes on without the gateway.
package final class GatewayKernel {
  package let reader: KernelReader
  private let applier: KernelApplier
  private let wireGuard: WireGuardKernel
  private let userspace: UserspaceWireGuard
  private let log: (String) -> Void
  private var isStarting = false
  /// The last steps: what is tried again without success is not logged again.
  private var lastSteps: [Step] = []

  /// Names the link that is being made, until it carries its alias.
  private let notePath: String

  /// `log` gets the steps, and what went wrong.
  package init(_ folder: StateFolder, on loop: EventLoop, log: @escaping (String) -> Void) throws(NetlinkError) {
    notePath = "\(folder.path)/unfinished-link"
    reader = try KernelReader()
    applier = try KernelApplier()
    wireGuard = try WireGuardKernel()
    userspace = UserspaceWireGuard(on: loop)
    self.log = log
  }

  /// The engine of the link: the present one, else the kernel's if it has one.
  package func engine(of link: String) -> WireGuardEngine {
    if let present = (try? reader.read(neighbours: false))?.link(named: link) { return present.kind == "wireguard" ? .kernel : .userspace }
    return wireGuard.isSupported() ? .kernel : .userspace
  }

  /// `peers`: where the engine is ours, these alone; otherwise all.
  package func device(_ link: String, _ engine: WireGuardEngine, peers: [WireGuardKey] = []) -> WireGuardState? {
    engine == .kernel ? (try? wireGuard.read(link)) ?? nil : (try? userspace.read(link, peers: peers)) ?? nil
  }

  /// The steps that are left to do.
  package func plan(to state: GatewayState) throws(NetlinkError) -> GatewayPlan { try examine(for: state).plan }

  /// The steps that are left to do, and the link's device as it is.
  func examine(for state: GatewayState) throws(NetlinkError) -> (plan: GatewayPlan, device: WireGuardState?) {
    let device = device(state.link, state.device.engine)
    return (GatewayPlan(from: try reader.read(neighbours: false), device, to: state, unfinished: unfinishedLink), device)
  }

  private var unfinishedLink: String? { (try? TextFile.read(notePath, limit: 64)).map { String(decoding: $0, as: UTF8.self) } }

  /// Applies a plan as far as possible. `retry` is called later if a step takes longer: an engine that starts.
  package func apply(_ plan: GatewayPlan, retry: @escaping () -> Void) {
    let isRepeated = plan.steps == lastSteps
    lastSteps = plan.steps
    let log = isRepeated ? { _ in } : log
    for step in plan.steps {
      if isStarting { return }
      log(step.description)
      if case .addWireGuardLink(let link, _) = step {
        do throws(SystemError) {
          try TextFile.replace(notePath, with: Array(link.utf8), mode: 0o600)
        } catch {
          // Without the note, a link whose maker dies would be another program's for ever.
          return log("\(error)")
        }
      }
      switch step {
      case .addWireGuardLink(let link, .userspace):
        isStarting = true
        userspace.start(link: link) { [weak self] result in
          self?.isStarting = false
          if case .failure(let error) = result { return log("\(error)") }
          retry()
        }
      case .configureWireGuard(let link, let device) where device.engine == .userspace: configure(link, device, log)
      case .deleteLink(let link, .userspace): userspace.stop(link: link)
      default:
        let failures = applier.apply([step]).failures
        for failure in failures { failure.error.map { log("\($0)") } }
        if case .setUp(let link) = step { userspace.serveSockets(of: link) }
        if case .setAlias = step, failures.isEmpty { try? TextFile.remove(notePath) }
      }
    }
  }

  /// Makes the peers of some devices as wanted, where the link has their old ones: no other is read. Returns whether that was possible.
  package func change(_ link: String, from old: [WireGuardPeer], to new: [WireGuardPeer], of device: WireGuardDevice) -> Bool {
    if Set(old) == Set(new) { return true }
    var device = device
    device.peers = new
    let state = WireGuardState(
      engine: device.engine, publicKey: device.publicKey, listenPort: device.listenPort ?? 0, firewallMark: device.firewallMark,
      peers: old.map { WireGuardState.Peer(publicKey: $0.publicKey, allowedIPs: $0.allowedIPs) })
    do {
      switch device.engine {
      case .kernel: try wireGuard.change(link: link, from: state, to: device)
      case .userspace: try userspace.configure(link, device, observed: state)
      }
    } catch {
      log("\(error)")
      return false
    }
    for peer in new where !old.contains(peer) {
      log("wg set \(link) peer (hidden) allowed-ips \(peer.allowedIPs.map(\.description).joined(separator: ","))")
    }
    let remaining = Set(new.map(\.publicKey))
    for peer in old where !remaining.contains(peer.publicKey) { log("wg set \(link) peer (hidden) remove") }
    return true
  }

  /// Sets where peers are: a session with them can begin here.
  func setEndpoints(_ endpoints: [WireGuardKey: Endpoint], of device: WireGuardState, link: String) {
    do {
      if device.engine == .kernel { return try wireGuard.setEndpoints(endpoints, link: link) }
      let peers = device.peers.compactMap { peer in
        endpoints[peer.publicKey].map {
          WireGuardPeer(publicKey: peer.publicKey, endpoint: $0, persistentKeepalive: peer.persistentKeepalive)
        }
      }
      try userspace.setEndpointsAndKeepalives(link, peers)
    } catch { log("\(error)") }
  }

  /// Makes peers anew, with the endpoints given: their sessions are of an earlier time, and the devices do not use them any more.
  func forgetSessions(
    of keys: Set<WireGuardKey>, _ endpoints: [WireGuardKey: Endpoint], of state: WireGuardState, _ key: SecretKey, link: String
  ) {
    guard !keys.isEmpty, let publicKey = state.publicKey else { return }
    let peers = state.peers.filter { keys.contains($0.publicKey) }.map {
      WireGuardPeer(publicKey: $0.publicKey, endpoint: endpoints[$0.publicKey] ?? $0.endpoint, allowedIPs: $0.allowedIPs)
    }
    let device = WireGuardDevice(engine: state.engine, privateKey: key, publicKey: publicKey, listenPort: state.listenPort)
    if change(link, from: peers, to: [], of: device) { _ = change(link, from: [], to: peers, of: device) }
  }

  private func configure(_ link: String, _ device: WireGuardDevice, _ log: (String) -> Void) {
    do throws(ProviderError) {
      try userspace.configure(link, device, observed: userspace.read(link))
    } catch { log("\(error)") }
  }

  /// The steps by which `clean` removes everything of the gateway's.
  var stepsOfCleaning: [Step] {
    get throws(NetlinkError) { GatewayPlan(cleaning: try reader.read(everywhere: true, neighbours: false)).steps }
  }

  /// Removes everything of the gateway's from the kernel. Calls back when it is gone.
  package func clean(then: @escaping () -> Void) throws(NetlinkError) {
    var waiting = 1
    func finish() {
      waiting -= 1
      if waiting == 0 { then() }
    }
    for step in try stepsOfCleaning {
      log(step.description)
      if case .deleteLink(let link, .userspace) = step {
        waiting += 1
        userspace.stop(link: link) { [log] result in
          if case .failure(let error) = result { log("\(error)") }
          finish()
        }
      } else {
        for failure in applier.apply([step]).failures { failure.error.map { log("\($0)") } }
      }
    }
    finish()
  }
}
