internal import GatewayCore
internal import KernelModel
internal import KeyMemory
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import SystemdIO

/// Sends devices their settings through the tunnel: after a change, after each handshake, and when they come back. Tells them the end of
/// their sessions.
final class SettingsSender {
  private let loop: EventLoop
  private let key: SecretKey
  private let directory: () -> Directory
  private let relayPort: () -> UInt16?
  private let port: TunnelPort
  private var ledger = PushLedger()
  private var timer: EventSource?
  private var lastNumber: UInt64 = 0

  /// So many at once, then a pause in which the loop does other work.
  private static let batch = 32
  private static let pause = Duration.milliseconds(20)
  /// So many devices are told the end of their sessions at once: each costs a multiplication on the curve, and the loop does nothing else.
  private static let mostEnds = 64

  init(
    on loop: EventLoop, _ key: SecretKey, by port: TunnelPort, relayPort: @escaping () -> UInt16?, directory: @escaping () -> Directory
  ) {
    self.loop = loop
    self.port = port
    self.key = key
    self.relayPort = relayPort
    self.directory = directory
  }

  /// After a look at the link.
  func look(at device: WireGuardState?) {
    guard let device else { return }
    ledger.look(at: device.peers, directory())
    begin(.zero)
  }

  /// After a change of the store.
  func record(_ reach: ChangeReach) {
    ledger.record(reach, directory(), at: Timestamp.now.wholeSecond)
    begin(.zero)
  }

  /// After an empty datagram from an address.
  func greet(from address: IPAddress) {
    let directory = directory()
    guard let device = directory.lease(of: address)?.device.flatMap({ directory.devices[$0] }) else { return }
    ledger.greet(device, directory, at: Timestamp.now.wholeSecond)
    begin(.zero)
  }

  /// Those of ended logins whose devices can be told.
  func connected(_ logins: [EndedLogin]) -> [EndedLogin] {
    let now = Timestamp.now.wholeSecond
    return Array(logins.lazy.filter { self.ledger.isConnected($0, at: now) }.prefix(Self.mostEnds))
  }

  /// Tells devices that the gateway takes their keys no more, while it still does. Those without a session now would have to be reached
  /// first: they notice at their next packet.
  func end(_ logins: some Sequence<EndedLogin>) {
    guard let gateway = directory().site?.publicKey.bytes else { return }
    var sockets = Sockets(port)
    for login in logins {
      let label = SessionEnd.label(gateway: gateway, device: login.publicKey.bytes)
      let datagram = SessionEnd(number: nextNumber()).datagram { key.seal($0, with: login.publicKey.bytes, label: label) }
      if let datagram { sockets.send(datagram, to: login.address) }
    }
  }

  /// Rising, whatever the clock does meanwhile.
  private func nextNumber() -> UInt64 {
    lastNumber = max(lastNumber + 1, UInt64(clamping: Timestamp.now.milliseconds) &* 1000)
    return lastNumber
  }

  private func begin(_ pause: Duration) {
    guard !ledger.isEmpty, timer == nil else { return }
    timer = try? loop.at(.now + pause) { [weak self] in self?.send() }
  }

  private func send() {
    timer = nil
    let (directory, relayPort) = (directory(), relayPort())
    var sockets = Sockets(port)
    for id in ledger.take(Self.batch) {
      guard let device = directory.devices[id], var grant = LoginGrant(directory, device), let address = grant.addresses.first else {
        continue
      }
      grant.relayPort = relayPort
      let label = SettingsPush.label(gateway: grant.gatewayKey, device: device.publicKey.bytes)
      let datagram = SettingsPush(number: nextNumber(), grant).datagram { key.seal($0, with: device.publicKey.bytes, label: label) }
      if let datagram, grant.isSendable { sockets.send(datagram, to: address) }
    }
    begin(Self.pause)
  }
}

/// The sockets for datagrams to devices. A device behind a firewall takes only datagrams from the port of settings. If another program has
/// that port, devices without a firewall still get theirs, by temporary sockets.
private struct Sockets {
  private let port: TunnelPort
  private var others: [IPAddress.Family: DatagramPort] = [:]

  init(_ port: TunnelPort) { self.port = port }

  mutating func send(_ datagram: [UInt8], to address: IPAddress) {
    let family = address.family
    if port[family] == nil, others[family] == nil {
      others[family] = (try? DatagramPort(nil, family, port: SettingsPush.port)) ?? (try? DatagramPort(nil, family, port: 0))
    }
    (port[family] ?? others[family])?.send(datagram, to: address, port: SettingsPush.port)
  }
}
