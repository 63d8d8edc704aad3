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
  private let id: String
  private let key: SecretKey
  private let site: () -> Site?
  private let store: GatewayStore
  private let kernel: GatewayKernel
  private let loop: EventLoop
  private let directory: () -> Directory
  private let log: (String) -> Void
  private var ledger: EndpointLedger
  private var seen: Int64 = 0
  private var nextNote: Moment = .now
  private var waiting: [IPAddress] = []
  private var timer: EventSource?

  private static let noteInterval = Duration.seconds(60)
  /// So many handshakes at once, then a pause in which the loop does other work.
  private static let batch = 32
  private static let pause = Duration.milliseconds(20)
  /// `discard` (RFC 863): any datagram to a device makes WireGuard begin a session.
  private static let discard: UInt16 = 9

  init(
    _ folder: StateFolder, on loop: EventLoop, _ store: GatewayStore, _ kernel: GatewayKernel, _ key: SecretKey,
    directory: @escaping () -> Directory, log: @escaping (String) -> Void
  ) throws(SystemError) {
    id = try folder.gatewayID()
    self.key = key
    self.loop = loop
    self.store = store
    self.kernel = kernel
    self.directory = directory
    self.log = log
    site = { directory().site }
    ledger = EndpointLedger(gateway: id)
  }

  private func present() -> (link: String, device: WireGuardState)? {
    guard let link = site()?.link.description, let device = kernel.device(link, kernel.engine(of: link)) else { return nil }
    return (link, device)
  }

  /// Every few seconds, with a store that answers. `device`: the link's, as it is.
  func exchange(_ device: WireGuardState?) throws(StoreError) {
    guard let site = site() else { return }
    if nextNote <= .now {
      try store.note(
        GatewayStore.Partner(id: id, publicKey: site.publicKey, host: StateFolder.hostName, seen: Timestamp.now.seconds))
      nextNote = .now + Self.noteInterval
    }
    guard let device else { return }
    let (endpoints, version) = try store.endpoints(after: seen)
    ledger.learn(endpoints)
    seen = version
    let notes = ledger.notes(of: device.peers)
    if !notes.isEmpty {
      try store.note(notes)
      ledger.learn(notes)
    }
    setEndpoints(of: device, site.link.description)
  }

  private func setEndpoints(of device: WireGuardState, _ link: String) {
    let missing = ledger.missing(in: device.peers)
    if !missing.isEmpty { kernel.setEndpoints(missing, of: device, link: link) }
  }

  /// This gateway has the address that clients connect to now: it begins a session with each device that had one with another gateway.
  func takeOver() {
    // The store may be away too: what is known is enough.
    guard let (link, device) = present() else { return }
    do throws(StoreError) { try exchange(device) } catch {
      log("\(error)")
      setEndpoints(of: device, link)
    }
    let moved = ledger.moved(in: device.peers, at: Timestamp.now.seconds)
    log("take-over: sessions with \(moved.all.count) devices")
    kernel.forgetSessions(of: moved.outdated, ledger.missing(in: device.peers), of: device, key, link: link)
    let directory = directory()
    waiting = directory.devices.values.filter { moved.all.contains($0.publicKey) }.compactMap { directory.addresses(of: $0.id).first }
    begin()
  }

  private func begin() {
    timer = nil
    for family in IPAddress.Family.allCases {
      let socket = try? DatagramPort(nil, family, port: 0)
      for address in waiting.suffix(Self.batch) where address.family == family { socket?.send([0], to: address, port: Self.discard) }
    }
    waiting.removeLast(min(Self.batch, waiting.count))
    if !waiting.isEmpty { timer = try? loop.at(.now + Self.pause) { [weak self] in self?.begin() } }
  }
}
