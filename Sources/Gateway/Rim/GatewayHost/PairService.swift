internal import GatewayCore
internal import GatewayStore
internal import KernelModel
internal import KeyMemory
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// The other gateways of the same key: says in the store that this one is there and where its devices are connected, gives the link the
/// endpoints of devices that are connected to another one, and begins sessions with those when this gateway takes over.
final class PairService {
  private let key: SecretKey
  private let store: GatewayStore
  private let kernel: GatewayKernel
  private let loop: EventLoop
  private let directory: () -> Directory
  private let log: (String) -> Void
  private var state: PairExchange
  private var trouble = LastingTrouble()
  private var timer: EventSource?

  /// Between two batches of handshakes.
  private static let pause = Duration.milliseconds(20)
  /// `discard` (RFC 863): any datagram to a device makes WireGuard begin a session.
  private static let discard: UInt16 = 9

  init(
    _ folder: StateFolder, on loop: EventLoop, _ store: GatewayStore, _ kernel: GatewayKernel, _ key: SecretKey,
    directory: @escaping () -> Directory, log: @escaping (String) -> Void
  ) throws(SystemError) {
    state = PairExchange(gateway: try folder.gatewayID())
    self.key = key
    self.loop = loop
    self.store = store
    self.kernel = kernel
    self.directory = directory
    self.log = log
  }

  private func present() -> (link: String, device: WireGuardState)? {
    guard let link = directory().site?.link.description, let device = kernel.device(link, kernel.engine(of: link)) else { return nil }
    return (link, device)
  }

  /// Every few seconds, with a store that answers. `device`: the link's, as it is. The gateway serves as well without this.
  func exchange(_ device: WireGuardState?) {
    var text: String?
    do throws(StoreError) { try writeAndRead(device) } catch { text = "\(error)" }
    if trouble.isNew(text), let text { log("the other gateway is not told of devices: \(text)") }
  }

  private func writeAndRead(_ device: WireGuardState?) throws(StoreError) {
    guard let site = directory().site else { return }
    if state.isNoteDue(at: .now) {
      try store.record(
        GatewayStore.Partner(
          id: state.gateway, publicKey: site.publicKey, host: StateFolder.hostName, seen: Timestamp.now.wholeSecond))
      state.recorded(at: .now)
    }
    guard let device else { return }
    let (endpoints, version) = try store.endpoints(after: state.seen)
    state.learn(endpoints, version: version)
    let notes = state.notes(of: device.peers)
    if !notes.isEmpty {
      try store.record(notes)
      state.learn(own: notes)
    }
    setEndpoints(of: device, site.link.description)
  }

  private func setEndpoints(of device: WireGuardState, _ link: String) {
    let missing = state.missing(in: device.peers)
    if !missing.isEmpty { kernel.setEndpoints(missing, of: device, link: link) }
  }

  /// This gateway has the address that clients connect to now: it begins a session with each device that had one with another gateway.
  func takeOver() {
    // The store may be away too: what is known is enough.
    guard let (link, device) = present() else { return }
    do throws(StoreError) { try writeAndRead(device) } catch {
      log("\(error)")
      setEndpoints(of: device, link)
    }
    let moved = state.takeOver(device.peers, directory(), at: Timestamp.now.wholeSecond)
    log("take-over: sessions with \(moved.count) devices")
    kernel.forgetSessions(of: moved.outdated, state.missing(in: device.peers), of: device, key, link: link)
    begin()
  }

  private func begin() {
    timer = nil
    let addresses = state.takeBatch()
    if addresses.isEmpty { return }
    for family in IPAddress.Family.allCases {
      let socket = try? DatagramPort(nil, family, port: 0)
      for address in addresses where address.family == family { socket?.send([0], to: address, port: Self.discard) }
    }
    timer = try? loop.at(.now + Self.pause) { [weak self] in self?.begin() }
  }
}
