internal import CWireGuardIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import WireGuardControl
internal import WireGuardEngine

/// The path from the sockets to the TUN device: receives, opens, joins, writes. It is one thread. Allocation, locks and wake-ups of other
/// threads happen per batch, never per packet. Handshake messages go to the control thread.
struct Inbound: ~Copyable {
  private static let lead = 128
  private static let tail = 1024
  /// The number of opened bytes after which they are written, even if more data is waiting.
  private static let enough = 192 * 1024
  /// The batch size if most messages are superpackets. To open one takes a twentieth of a millisecond, and more would make turns long.
  private static let fewSuperpackets = 4

  /// The first byte of a message that carries data.
  private static let transport: UInt8 = 4

  private let path: DataPath
  private let tun: Int32
  private let poller: Int32
  private let buffers: UnsafeMutableRawPointer
  private let bufferSize: Int
  private let stride: Int
  private let bufferCount: Int
  private let messages: UnsafeMutablePointer<cwg_incoming>
  private let plaintext: UnsafeMutableRawPointer
  /// The number of messages to request next.
  private var wanted: Int
  private var used = 0
  private var coalescer: Coalescer
  /// All flows share one queue here, so its target is as short as TCP allows without leaving the processor idle.
  private var delay = ControlledDelay(target: 150_000, interval: 3_000_000)
  private var longest = LongestWait()
  /// The batch has waited for too long.
  private var isStale = false
  /// One packet is to be marked or dropped, because the socket never empties.
  private var tellsSender = false
  /// The previous batch had a handshake message.
  private var hadHandshake = false

  init(_ path: DataPath) throws(SystemError) {
    self.path = path
    tun = path.tun.descriptor.number
    poller = cwg_poller()
    // A socket with UDP_GRO fills a buffer with up to 64 KiB. One without needs many small buffers, and jumbo datagrams are dropped.
    let joins = path.offloads.contains(.socketJoining)
    bufferSize = joins ? 65_536 : 10_240
    bufferCount = joins ? 8 : CWG_BATCH
    wanted = bufferCount
    stride = (Self.lead + bufferSize + Self.tail + 63) / 64 * 64 + 192
    buffers = .allocate(byteCount: stride * bufferCount, alignment: 64)
    messages = .allocate(capacity: bufferCount)
    plaintext = .allocate(byteCount: Self.lead + Self.enough + 65_536 + Self.tail, alignment: 64)
    let tunOffloads = path.tun.offloads
    coalescer = Coalescer(
      hasVirtioHeader: path.tun.hasVirtioHeader, joinsTCP: tunOffloads.contains(.tunSegmentation),
      joinsUDP: tunOffloads.contains(.tunDatagramSegmentation))
    guard poller >= 0, cwg_poller_add(poller, path.stopping, 2) == 0 else { throw .last("watch the sockets") }
    path.inboundPoller = poller
  }

  deinit {
    buffers.deallocate()
    messages.deallocate()
    plaintext.deallocate()
    close(poller)
  }

  /// Runs until the path stops.
  mutating func run() {
    var identities: [UInt32] = [0, 0, 0, 0]
    while true {
      let count = cwg_poller_wait(poller, &identities, 4)
      for i in 0..<max(0, Int(count)) {
        switch identities[i] {
        case 0: drain(path.sockets.v4)
        case 1: drain(path.sockets.v6)
        default: return
        }
      }
    }
  }

  /// Reads a few batches at most, so that the other socket gets its turn.
  private mutating func drain(_ socket: Int32) {
    var before: Moment?
    for _ in 0..<64 {
      let asked = wanted
      let count = Int(cwg_receive(socket, buffers + Self.lead, bufferSize, stride, messages, UInt32(asked)))
      guard count > 0 else {
        _ = delay.tells(of: 0, bytes: 0, at: .now)
        return
      }
      let now = Moment.now
      // An emptied socket is no queue, however late this thread ran. Otherwise the last message has waited the shortest time.
      isStale = longest.isExceeded(by: count == asked ? UInt64(messages[count &- 1].waited) : 0, at: now)
      // Ignore batches with handshakes: these may displace data, and a flood must not signal congestion.
      let leavesData = count == asked && !hadHandshake
      hadHandshake = false
      let work = before.map { now.nanoseconds &- $0.nanoseconds } ?? 0
      before = now
      let bytes = (0..<count).reduce(0) { $0 &+ Int(messages[$1].length) }
      tellsSender = delay.tells(of: leavesData ? UInt64(messages[count &- 1].waited) : 0, bytes: bytes, at: now, work: work)
      let outcome = path.engine.receive(at: now) { batch in
        for i in 0..<count { take(i, &batch) }
      }
      write()
      if outcome.needsControl || path.handshakes.hasNews { path.wakeControl() }
      DataPath.letOthersWork()
      wanted = bytes > count &* 32_768 ? Self.fewSuperpackets : bufferCount
      if count < asked { return }
    }
  }

  @inline(__always)
  private mutating func take(_ index: Int, _ batch: inout ReceiveBatch) {
    let message = messages[index]
    guard message.is_truncated == 0, let source = DatagramAddress(message) else { return }
    let datagrams = buffers + (Self.lead &+ index &* stride)
    let length = Int(message.length)
    let segment = max(1, Int(message.segment))
    let isMarked = CongestionMarks.isExperienced(message.traffic_class)
    var offset = 0
    while offset < length {
      let size = min(segment, length &- offset)
      let record = datagrams + offset
      offset &+= size
      if isStale, record.load(as: UInt8.self) == Self.transport { continue }
      if used > Self.enough || coalescer.isFull { write() }
      let packet = plaintext + (Self.lead &+ used)
      switch batch.open(record, count: size, from: source, into: packet) {
      case .packet(let length, _):
        if isMarked { CongestionMarks.mark(packet) }
        if tellsSender, length >= ControlledDelay.smallest {
          tellsSender = false
          if !CongestionMarks.mark(packet) { continue }
        }
        coalescer.append(packet, length)
        // The 64 bytes before the next packet are preserved, so it may begin right behind this one.
        used &+= (length &+ 15) & ~15
      case .handshake:
        hadHandshake = true
        path.handshakes.append(UnsafeRawBufferPointer(start: record, count: size), from: source)
      case .keepalive, .dropped: break
      }
    }
  }

  /// Writes the opened packets. Packets that the device rejects are lost: the link is down.
  private mutating func write() {
    for i in 0..<coalescer.count {
      let pieces = coalescer.finish(i)
      while writev(tun, pieces.baseAddress, Int32(truncatingIfNeeded: pieces.count)) < 0, errno == EINTR {}
    }
    coalescer.removeAll()
    used = 0
  }
}
