internal import Glibc
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import SystemdIO

/// The port of settings inside the tunnel. The gateway sends by it, and reads the questions of devices. Bound to the gateway's link: what
/// comes by another one does not reach it.
final class TunnelPort {
  private let loop: EventLoop
  /// Called with each datagram of a device, and its address.
  var take: ([UInt8], IPAddress) -> Void = { _, _ in }
  private var index: UInt32 = 0
  private var ports: [IPAddress.Family: (port: DatagramPort, source: EventSource)] = [:]

  /// So many are read at once; the others wait.
  private static let batch = 16

  init(on loop: EventLoop) { self.loop = loop }

  /// After each look at the link, which may be another one by now. Another program may have the port: then it is tried again.
  func open(on link: String, _ families: [IPAddress.Family]) {
    let present = if_nametoindex(link)
    if present != index { (ports, index) = ([:], present) }
    guard present != 0 else { return }
    for family in families where ports[family] == nil {
      guard let port = try? DatagramPort(nil, family, port: SettingsPush.port, link: link),
        let source = try? loop.whenReadable(port.file.number, { [weak self] in self?.read(family) })
      else { continue }
      ports[family] = (port, source)
    }
  }

  /// `nil`: it is not open.
  subscript(family: IPAddress.Family) -> DatagramPort? { ports[family]?.port }

  private func read(_ family: IPAddress.Family) {
    guard let port = ports[family]?.port else { return }
    for _ in 0..<Self.batch {
      guard let datagram = port.receive(atMost: PacketQuestion.length(.v6) + 1) else { return }
      take(datagram.bytes, datagram.from)
    }
  }
}
