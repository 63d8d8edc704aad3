internal import CWireGuardIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import WireGuardControl
internal import WireGuardEngine

/// The path from sockets to the TUN device: receives, opens, joins, writes. It belongs to one thread. Allocation, locks and wake-ups of
/// other threads happen per batch, never per packet. Handshake messages are control's.
struct Inbound: ~Copyable {
  private static let lead = 128
  private static let tail = 1024
  /// The number of opened bytes after which they are written, even if more data is waiting.
  private static let enough = 192 * 1024
  /// The batch size if most messages are superpackets. To open one takes a twentieth of a millisecond, and more would make turns long.
  private static let fewSuperpackets = 4

  /// The time without handshake messages after which one of them is answered by this thread; nanoseconds.
  private static let quiet: UInt64 = 20_000_000

  /// The first byte of a message that carries data.
  private static let transport: UInt8 = 4

  private let path: DataPath
  /// The number of the thread.
  private let number: Int
  private let poller: Int32
  private let buffers: UnsafeMutableRawPointer
  private let bufferSize: Int
  private let stride: Int
  private let bufferCount: Int
  private let messages: UnsafeMutablePointer<cwg_incoming>
  /// The shards of each message's records, as bits.
  private let shards: UnsafeMutablePointer<UInt64>
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
  private var lastHandshake = Moment(nanoseconds: 0)
  private var meter = LoadMeter(at: .now)

  private init(_ path: DataPath, _ number: Int) {
    self.path = path
    self.number = number
    poller = path.inboundDuties.pollers[number]
    // A socket with UDP_GRO fills a buffer with up to 64 KiB. One without needs many small buffers, and jumbo datagrams are dropped.
    let joins = path.offloads.contains(.socketJoining)
    bufferSize = joins ? 65_536 : 10_240
    bufferCount = joins ? 8 : CWG_BATCH
    wanted = bufferCount
    stride = (Self.lead + bufferSize + Self.tail + 63) / 64 * 64 + 192
    buffers = .allocate(byteCount: stride * bufferCount, alignment: 64)
    messages = .allocate(capacity: bufferCount)
    shards = .allocate(capacity: bufferCount)
    plaintext = .allocate(byteCount: Self.lead + Self.enough + 65_536 + Self.tail, alignment: 64)
    let tunOffloads = path.tun.offloads
    coalescer = Coalescer(
      hasVirtioHeader: path.tun.hasVirtioHeader, joinsTCP: tunOffloads.contains(.tunSegmentation),
      joinsUDP: tunOffloads.contains(.tunDatagramSegmentation))
  }

  deinit {
    buffers.deallocate()
    messages.deallocate()
    shards.deallocate()
    plaintext.deallocate()
  }

  /// A thread's work: waits for datagrams with untouched buffers, and runs with them until there are none for a minute.
  static func serve(_ path: DataPath, _ number: Int) {
    let duties = path.inboundDuties
    while true {
      // As in `Outbound.serve`.
      var made = duties.queues(of: number).isEmpty ? nil : Inbound(path, number)
      guard let wakes = duties.wait(in: number) else { return }
      guard wakes else { continue }
      var inbound = made.take() ?? Inbound(path, number)
      guard inbound.run(duties) else { return }
    }
  }

  /// False if the path stops; true without datagrams for a minute.
  private mutating func run(_ duties: Duties) -> Bool {
    meter = LoadMeter(at: .now)
    var identities = [UInt32](repeating: 0, count: 16)
    while true {
      let before = duties.canGrow ? Moment.now : nil
      let count = cwg_poller_wait(poller, &identities, 16, DataPath.idleTime)
      if count == 0 { return true }
      if let before {
        let now = Moment.now
        meter.record(waited: now.nanoseconds &- before.nanoseconds)
        if meter.isHigh(at: now) { duties.grow() }
      }
      for i in 0..<max(0, Int(count)) {
        let identity = identities[i]
        if identity == Duties.stops { return false }
        if identity == Duties.changes {
          duties.handOver(by: number)
          // Other events may be those of sockets that are another thread's now.
          break
        }
        let sockets = path.sockets[Int(identity / 2)]
        drain(identity & 1 == 0 ? sockets.v4 : sockets.v6)
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
      let needsControl = open(count, at: now)
      write()
      if needsControl || path.turns.handshakes.hasNews { tellControl(afterBytes: bytes, at: now) }
      DataPath.letOthersWork()
      wanted = bytes > count &* 32_768 ? Self.fewSuperpackets : bufferCount
      if count < asked { return }
    }
  }

  /// A message that comes alone, after a while without any, is answered at once. All others wait for the control thread: many would hold up
  /// data.
  @inline(__always)
  private mutating func tellControl(afterBytes bytes: Int, at now: Moment) {
    guard hadHandshake else { return path.turns.wakeThread() }
    let isFirst = now.nanoseconds &- lastHandshake.nanoseconds > Self.quiet
    lastHandshake = now
    if isFirst, bytes <= HandshakeQueue.largest { path.turns.workAtOnce(messages: 1) } else { path.turns.wakeThread() }
  }

  /// Opens the messages, shard by shard. Usually all are of the shards that the kernel steers to this socket.
  @inline(__always)
  private mutating func open(_ count: Int, at now: Moment) -> Bool {
    var present: UInt64 = 0
    for i in 0..<count {
      shards[i] = shards(of: i)
      present |= shards[i]
    }
    var needsControl = false
    while present != 0 {
      let shard = present.trailingZeroBitCount
      present &= present &- 1
      let outcome = path.engine.receive(shard: shard, at: now) { batch in
        for i in 0..<count where shards[i] & 1 << UInt64(truncatingIfNeeded: shard) != 0 { take(i, of: shard, &batch) }
      }
      if outcome.needsControl { needsControl = true }
    }
    return needsControl
  }

  /// The kernel joins datagrams of one source. Two peers behind one address and port are rare, but possible.
  @inline(__always)
  private func shards(of index: Int) -> UInt64 {
    let shardCount = path.engine.shardCount
    guard shardCount > 1 else { return 1 }
    let message = messages[index]
    let datagrams = buffers + (Self.lead &+ index &* stride)
    let (length, segment) = (Int(message.length), max(1, Int(message.segment)))
    var present: UInt64 = 0
    var offset = 0
    while offset < length {
      let shard = ReceiveBatch.shard(of: datagrams + offset, count: min(segment, length &- offset), shardCount: shardCount)
      present |= 1 << UInt64(truncatingIfNeeded: shard)
      offset &+= segment
    }
    return present
  }

  /// Opens the records of one shard.
  @inline(__always)
  private mutating func take(_ index: Int, of shard: Int, _ batch: inout ReceiveBatch) {
    let isMixed = shards[index].nonzeroBitCount > 1
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
      if isMixed, ReceiveBatch.shard(of: record, count: size, shardCount: path.engine.shardCount) != shard { continue }
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
        path.turns.handshakes.append(UnsafeRawBufferPointer(start: record, count: size), from: source)
      case .keepalive, .dropped: break
      }
    }
  }

  /// Writes the opened packets. Packets that the device rejects are lost: the link is down.
  private mutating func write() {
    for i in 0..<coalescer.count {
      let pieces = coalescer.finish(i)
      let queues = path.tun.queues
      // The kernel puts packets of this flow into the queue to which its answers are written.
      let tun = queues.count == 1 ? queues[0].number : queues[coalescer.flow(of: i) % queues.count].number
      while writev(tun, pieces.baseAddress, Int32(truncatingIfNeeded: pieces.count)) < 0, errno == EINTR {}
    }
    coalescer.removeAll()
    used = 0
  }
}
