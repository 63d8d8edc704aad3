internal import CProviderIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes

/// The packets of a TUN device (`IFF_TUN | IFF_NO_PI`), or of a socket that keeps the boundaries of packets.
final class DeviceFlow: ClosableFlow {
  let interface: String
  let mtu: Int
  private(set) var droppedPackets = 0

  private let device: ReadableFile<[Packet]>
  private var batch: Batch

  init?(_ file: FileDescriptor, interface: String, mtu: Int, on loop: DescriptorLoop) {
    guard cproviderio_set_nonblocking(file.number) == 0 else { return nil }
    device = ReadableFile(file, on: loop)
    self.interface = interface
    self.mtu = mtu
    // The policy may raise the MTU later: a place takes any packet.
    batch = Batch(size: 65_536, count: 32)
  }

  func readPackets(_ handler: @escaping ([Packet]) -> Void) { device.receive(handler) { [weak self] in self?.read() } }

  func pauseReading() { device.pause() }

  func resumeReading() { device.resume() }

  func close() { device.close() }

  private func read() {
    guard let file = device.file else { return }
    let found = batch.fill { cproviderio_read_packets(file.number, $0, $1, $2, $3) }
    guard let found, !found.isEmpty else {
      // An error that stays, or the end, would wake the loop for ever.
      if found != nil || errno != EAGAIN { device.stopWatching() }
      return
    }
    let packets = found.compactMap { Packet($0) }
    droppedPackets += found.count - packets.count
    if !packets.isEmpty { device.handler?(packets) }
  }

  func writePackets(_ packets: [Packet]) {
    for packet in packets { write(packet.bytes) }
  }

  func writePackets(unchecked data: [[UInt8]]) {
    for bytes in data {
      if Packet(bytes) != nil { write(bytes) } else { droppedPackets += 1 }
    }
  }

  private func write(_ bytes: [UInt8]) {
    guard let file = device.file else { return }
    var count = 0
    bytes.withUnsafeBytes { buffer in
      repeat { count = Glibc.write(file.number, buffer.baseAddress, buffer.count) } while count < 0 && errno == EINTR
    }
    if count != bytes.count { droppedPackets += 1 }
  }
}

/// A buffer for packets or datagrams, with places of equal size.
struct Batch {
  let size: Int
  private var buffer: [UInt8]
  private var lengths: [UInt32]

  init(size: Int, count: Int) {
    self.size = size
    buffer = [UInt8](repeating: 0, count: size * count)
    lengths = [UInt32](repeating: 0, count: count)
  }

  /// Returns the packets that `receive` put into the buffer; `nil` if it returned -1.
  mutating func fill(
    _ receive: (UnsafeMutablePointer<UInt8>?, Int, UnsafeMutablePointer<UInt32>?, UInt32) -> Int32
  ) -> [[UInt8]]? {
    let limit = UInt32(lengths.count)
    let count = buffer.withUnsafeMutableBufferPointer { bytes in
      lengths.withUnsafeMutableBufferPointer { lengths in receive(bytes.baseAddress, size, lengths.baseAddress, limit) }
    }
    guard count >= 0 else { return nil }
    return (0..<Int(count)).map { Array(buffer[$0 * size..<$0 * size + Int(lengths[$0])]) }
  }
}
