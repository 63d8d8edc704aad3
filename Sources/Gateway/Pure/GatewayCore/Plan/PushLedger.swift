package import KernelModel
package import NetworkTypes

/// Which devices are due to be sent their settings, in their order: only those that have logged in, stock clients take none.
///
/// Nothing confirms a push. So each new handshake is a reason as well as each change, and so is a greeting of a device that has come back,
/// or whose last push may be lost: a device that was away gets what has changed meanwhile.
package struct PushLedger: Equatable, Sendable {
  /// The last handshake of each peer at the last look at the link.
  private var handshakes: [WireGuardKey: Timestamp] = [:]
  private var queue: [Int64] = []
  private var queued: Set<Int64> = []
  /// Devices that were sent a change, and of which nothing has come since.
  private var unconfirmed: Set<Int64> = []
  /// Devices without a session at the last look at the link, that have greeted since.
  private var returned: Set<Int64> = []

  /// A device without a handshake for this long is not sent a change: a day. WireGuard tries to reach it, though its session
  /// is over, which costs handshakes without an answer where the device is away.
  static let reach = Duration.seconds(86_400)
  /// The time after a login in which a device is sent changes although no look at the link has shown a handshake. Not longer: it may
  /// have logged in at another gateway of the store, and this one would try to reach it.
  static let newcomer = Duration.seconds(60)
  /// WireGuard's sessions carry packets for this long after their handshake.
  static let session = Duration.seconds(180)

  package init() {}

  package var isEmpty: Bool { queue.isEmpty }

  /// Records the handshakes of the link's peers.
  package mutating func look(at peers: some Sequence<WireGuardState.Peer>, _ directory: Directory) {
    var seen: [WireGuardKey: Timestamp] = [:]
    for peer in peers {
      guard let handshake = peer.handshake else { continue }
      seen[peer.publicKey] = handshake
      if handshakes[peer.publicKey] != handshake, let device = directory.device(of: peer.publicKey) {
        unconfirmed.remove(device.id)
        add(device, directory)
      }
    }
    handshakes = seen
    returned = []
    if unconfirmed.count > directory.devices.count { unconfirmed.formIntersection(directory.devices.keys) }
  }

  /// Records that something has come from a device: a packet to the gateway itself.
  package mutating func greet(_ device: Device, _ directory: Directory, at now: Timestamp) {
    let isBack = age(of: device.publicKey, at: now) >= Self.session && returned.insert(device.id).inserted
    if unconfirmed.remove(device.id) != nil || isBack { add(device, directory) }
  }

  /// Whether the device of a login has a session, as far as the last look at the link, a greeting since, and the login show.
  package func isConnected(_ login: EndedLogin, at now: Timestamp) -> Bool {
    age(of: login.publicKey, at: now) < Self.session || returned.contains(login.device) || now - login.proven < Self.newcomer
  }

  /// The time since a peer's handshake; very long without one.
  private func age(of key: WireGuardKey, at now: Timestamp) -> Duration { handshakes[key].map { now - $0 } ?? .milliseconds(Int64.max) }

  private func hasJustLoggedIn(_ device: Device, _ directory: Directory, at now: Timestamp) -> Bool {
    directory.login(of: device.id).map { now - $0.proven < Self.newcomer } ?? false
  }

  /// Records that settings of these devices may have changed.
  package mutating func record(_ reach: ChangeReach, _ directory: Directory, at now: Timestamp) {
    let devices =
      switch reach {
      case .everything: directory.devices.values.sorted { $0.id < $1.id }
      case .devices(let numbers): numbers.sorted().compactMap { directory.devices[$0] }
      }
    for device in devices {
      // Its first handshake may be later than the last look.
      guard age(of: device.publicKey, at: now) < Self.reach || hasJustLoggedIn(device, directory, at: now) else { continue }
      unconfirmed.insert(device.id)
      add(device, directory)
    }
  }

  private mutating func add(_ device: Device, _ directory: Directory) {
    guard let login = directory.login(of: device.id), login.ended == nil, queued.insert(device.id).inserted else { return }
    queue.append(device.id)
  }

  /// Takes the next ones.
  package mutating func take(_ most: Int) -> [Int64] {
    let next = Array(queue.prefix(most))
    queue.removeFirst(next.count)
    queued.subtract(next)
    return next
  }
}
