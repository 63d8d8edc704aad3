internal import CDatagrams
internal import Glibc
internal import LinuxIO
internal import NetworkTypes

/// Room for datagrams that are received at once.
struct DatagramBatch {
  /// The longest datagram that is taken: questions are shorter, and answers are asked for with at most 1,232 bytes.
  private static let size = 4096

  private var bytes = [UInt8](repeating: 0, count: size * Int(CDATAGRAMS_BATCH))
  private var datagrams = [cdatagrams_datagram](repeating: cdatagrams_datagram(), count: Int(CDATAGRAMS_BATCH))
  private(set) var count = 0

  /// Receives what is there, at most 64 datagrams.
  mutating func receive(from socket: Int32, atMost limit: UInt32 = UInt32(CDATAGRAMS_BATCH)) {
    let received = bytes.withUnsafeMutableBufferPointer { cdatagrams_receive(socket, $0.baseAddress, Self.size, &datagrams, limit) }
    count = max(0, Int(received))
  }

  /// Passes each valid one with the address of its sender.
  func forEach(_ body: (Span<UInt8>, IPAddress, UInt16) -> Void) {
    for i in 0..<count where datagrams[i].is_invalid == 0 {
      let datagram = datagrams[i]
      let range = Int(datagram.offset)..<Int(datagram.offset) + Int(datagram.length)
      let address = IPAddress(family: datagram.is_v6 == 1 ? .v6 : .v4, high: datagram.high, low: datagram.low)
      body(bytes.span.extracting(range), address, datagram.port)
    }
  }
}

/// Datagrams that are sent at once.
struct DatagramSender {
  private var datagrams: [cdatagrams_datagram] = []

  var isEmpty: Bool { datagrams.isEmpty }
  var isFull: Bool { datagrams.count == Int(CDATAGRAMS_BATCH) }

  mutating func add(_ range: Range<Int>, to address: IPAddress, _ port: UInt16) {
    datagrams.append(
      cdatagrams_datagram(
        high: address.high, low: address.low, offset: UInt32(range.lowerBound), length: UInt32(range.count), port: port,
        is_v6: address.family == .v6 ? 1 : 0, is_invalid: 0))
  }

  mutating func forget() { datagrams.removeAll(keepingCapacity: true) }

  /// Sends them, and forgets them. Passes the places of those that the kernel did not take; those for which it has no room now are lost, as
  /// on the network.
  mutating func send(_ bytes: [UInt8], by socket: FileDescriptor, failed: (Int) -> Void = { _ in }) {
    var sent = 0
    while sent < datagrams.count {
      let count = bytes.withUnsafeBufferPointer { bytes in
        datagrams.withUnsafeBufferPointer {
          cdatagrams_send(socket.number, bytes.baseAddress, $0.baseAddress.map { $0 + sent }, UInt32($0.count - sent))
        }
      }
      if count > 0 {
        sent += Int(count)
        continue
      }
      if errno == EINTR { continue }
      if errno == EAGAIN || errno == ENOBUFS { break }
      failed(sent)
      sent += 1
    }
    datagrams.removeAll(keepingCapacity: true)
  }
}
