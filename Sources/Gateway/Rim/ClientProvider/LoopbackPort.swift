internal import Glibc
internal import LinuxIO
internal import NetworkTypes

/// A UDP port of this machine to which the engine sends instead of to the gateway. It takes datagrams of the engine's port alone.
final class LoopbackPort: EnginePort {
  /// Datagrams that are read at once.
  private static let batch = 32
  /// The most bytes of one.
  private static let longest = 16_385

  let endpoint: Endpoint
  private let loop: DescriptorLoop
  private let take: ([[UInt8]]) -> Void
  private var file: FileDescriptor?
  private var source: DescriptorLoop.Source?

  /// `nil` if the system opens none. `engine`: the engine's port.
  init?(_ engine: UInt16, on loop: DescriptorLoop, _ take: @escaping ([[UInt8]]) -> Void) {
    let number = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0, let address = IPAddress("127.0.0.1") else { return nil }
    let file = FileDescriptor(owning: number)
    var size: Int32 = 1 << 20
    setsockopt(number, SOL_SOCKET, SO_RCVBUF, &size, 4)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isOpen = withUnsafeMutablePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(number, generic, length) == 0 && getsockname(number, generic, &length) == 0
      }
    }
    let port = UInt16(bigEndian: name.sin_port)
    name.sin_port = engine.bigEndian
    guard isOpen, engine != 0,
      withUnsafePointer(to: &name, { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(number, $0, length) } }) == 0
    else { return nil }
    endpoint = Endpoint(host: .address(address), port: port)
    self.loop = loop
    self.take = take
    self.file = file
    resume()
    if source == nil { return nil }
  }

  func deliver(_ datagrams: [[UInt8]]) {
    // One that the engine does not take is lost, as on any way.
    for datagram in datagrams { _ = try? file?.write(datagram[...]) }
  }

  func pause() { source = nil }

  func resume() {
    guard let file, source == nil else { return }
    source = try? loop.whenReadable(file.number) { [weak self] in self?.read() }
  }

  func close() { (source, file) = (nil, nil) }

  private func read() {
    var datagrams: [[UInt8]] = []
    while datagrams.count < Self.batch, let datagram = try? file?.read(atMost: Self.longest), !datagram.isEmpty {
      datagrams.append(datagram)
    }
    if !datagrams.isEmpty { take(datagrams) }
  }
}
