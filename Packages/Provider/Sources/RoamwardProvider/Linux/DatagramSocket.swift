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

  /// `nil` when closed.
  private var file: FileDescriptor?
  private let loop: DescriptorLoop
  private var source: DescriptorLoop.Source?
  private var handler: ((SocketInput) -> Void)?
  private var isPaused = false
  private var batch = Batch(size: 65_536, count: 32)

  init(_ file: FileDescriptor, remote: Endpoint, on loop: DescriptorLoop) {
    self.file = file
    self.remote = remote
    self.loop = loop
  }

  func receive(_ handler: @escaping (SocketInput) -> Void) {
    self.handler = handler
    watch()
  }

  func pauseReceiving() {
    isPaused = true
    watch()
  }

  func resumeReceiving() {
    isPaused = false
    watch()
  }

  func whenDrained(_ handler: @escaping () -> Void) { handler() }

  func close() {
    file = nil
    handler = nil
    source = nil
  }

  private func watch() {
    guard handler != nil, !isPaused, let file else { return source = nil }
    if source == nil { source = try? loop.whenReadable(file.number) { [weak self] in self?.read() } }
  }

  private func read() {
    guard let file else { return }
    if let datagrams = batch.fill({ cproviderio_receive(file.number, $0, $1, $2, $3) }) {
      handler?(.data(datagrams))
    } else if errno != EAGAIN {
      // An ICMP error of a datagram before; reading has taken it.
      handler?(.ended(reason: SystemError.words(errno)))
    }
  }

  func send(_ data: [[UInt8]]) {
    guard let file else { return }
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
