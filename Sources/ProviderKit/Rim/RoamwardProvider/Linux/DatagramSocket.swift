internal import CProviderIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import ProviderProtocol

/// A connected UDP socket.
final class DatagramSocket: OutsideSocket {
  let transport = Transport.udp
  let remote: Endpoint
  let unsentBytes = 0

  private let socket: ReadableFile<SocketInput>
  private var batch = Batch(size: 65_536, count: 32)

  init(_ file: FileDescriptor, remote: Endpoint, on loop: DescriptorLoop) {
    socket = ReadableFile(file, on: loop)
    self.remote = remote
  }

  func receive(_ handler: @escaping (SocketInput) -> Void) { socket.receive(handler) { [weak self] in self?.read() } }

  func pauseReceiving() { socket.pause() }

  func resumeReceiving() { socket.resume() }

  func whenDrained(_ handler: @escaping () -> Void) { handler() }

  func close() { socket.close() }

  private func read() {
    guard let file = socket.file else { return }
    if let datagrams = batch.fill({ cproviderio_receive(file.number, $0, $1, $2, $3) }) {
      socket.handler?(.data(datagrams))
    } else if errno != EAGAIN {
      // An ICMP error of a datagram before; reading has taken it.
      socket.handler?(.ended(reason: SystemError.words(errno)))
    }
  }

  func send(_ data: [[UInt8]]) {
    guard let file = socket.file else { return }
    for start in stride(from: 0, to: data.count, by: Int(CPROVIDERIO_BATCH)) {
      var part = data[start..<min(data.count, start + Int(CPROVIDERIO_BATCH))]
      while !part.isEmpty {
        let lengths = part.map { UInt32($0.count) }
        let sent = cproviderio_send(file.number, Array(part.joined()), lengths, UInt32(lengths.count))
        if sent < 0 {
          // Full: the rest is lost, as in a full queue on its way. Otherwise the error was that of an earlier datagram, or of this one.
          if errno == EAGAIN || errno == ENOBUFS { return }
          part = part.dropFirst()
        } else {
          part = part.dropFirst(max(1, Int(sent)))
        }
      }
    }
  }
}
