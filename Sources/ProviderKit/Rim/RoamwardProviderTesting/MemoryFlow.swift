internal import NetworkTypes
public import RoamwardProvider

/// A tunnel's link in memory.
public final class MemoryFlow: ClosableFlow {
  /// Packets that wait for the provider, at most; the link drops others.
  public static let queueLength = 512

  public let interface = "test0"
  public let mtu: Int
  public private(set) var droppedPackets = 0
  /// Packets that the provider gave to the machine, the first first.
  public private(set) var written: [Packet] = []
  /// Packets that the link dropped, because they were not read.
  public private(set) var overflow = 0
  public private(set) var isClosed = false

  private let settle: () -> Void
  private var handler: (([Packet]) -> Void)?
  private var isPaused = false
  private var waiting: [Packet] = []

  init(mtu: Int, settle: @escaping () -> Void) {
    self.mtu = mtu
    self.settle = settle
  }

  /// The machine sends packets into the tunnel.
  public func deliver(_ packets: [Packet]) {
    guard !isClosed else { return }
    let room = Self.queueLength - waiting.count
    waiting += packets.prefix(room)
    overflow += max(0, packets.count - room)
    flush()
    settle()
  }

  /// Takes what was written.
  public func takeWritten() -> [Packet] {
    defer { written = [] }
    return written
  }

  public func readPackets(_ handler: @escaping ([Packet]) -> Void) {
    self.handler = handler
    flush()
  }

  public func pauseReading() { isPaused = true }

  public func resumeReading() {
    isPaused = false
    flush()
  }

  public func writePackets(_ packets: [Packet]) { if isClosed { droppedPackets += packets.count } else { written += packets } }

  public func writePackets(unchecked data: [[UInt8]]) {
    let packets = data.compactMap { Packet($0) }
    droppedPackets += data.count - packets.count
    writePackets(packets)
  }

  package func close() {
    isClosed = true
    handler = nil
    waiting = []
  }

  private func flush() {
    while let handler, !isPaused, !waiting.isEmpty {
      let batch = Array(waiting.prefix(64))
      waiting.removeFirst(batch.count)
      handler(batch)
    }
  }
}
