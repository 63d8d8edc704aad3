internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes

/// The socket at which the gateway's settings and answers arrive, inside of the tunnel.
final class SettingsSocket {
  private let port: DatagramPort
  private var source: DescriptorLoop.Source?

  /// So many are read at once; the others wait.
  private static let batch = 16

  init(_ address: IPAddress, link: String, on loop: DescriptorLoop, _ take: @escaping ([UInt8]) -> Void) throws(SystemError) {
    let port = try DatagramPort(address, address.family, port: SettingsPush.port, link: link)
    self.port = port
    source = try loop.whenReadable(port.file.number) {
      for _ in 0..<Self.batch {
        // An error is one of an earlier datagram. A longer one than the limit is none of the gateway's.
        guard let datagram = (try? port.file.read(atMost: SettingsPush.limit + 1)) ?? nil else { return }
        take(datagram)
      }
    }
  }

  func send(_ datagram: [UInt8], to gateway: IPAddress) { port.send(datagram, to: gateway, port: SettingsPush.port) }
}
