internal import CWireGuardIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import WireGuardControl
internal import WireGuardEngine

/// The path from queues of the TUN device to a socket: reads packets, splits superpackets, seals, sends. It belongs to one thread.
/// Allocation, locks and wake-ups of other threads happen per batch, never per packet.
struct Outbound: ~Copyable {
  /// The number of bytes of packets that are prepared at once, in one entry of the engine's sending section, before the device is read
  /// again. The turn of a packet that arrives meanwhile comes after them.
  private static let enough = 16_384
  /// The number of packets that are prepared at once.
  private static let most = 32

  /// A packet with its ticket.
  private struct Prepared {
    let superpacket: Superpacket
    let ticket: SendTicket
    let slot: Int
  }

  /// The peers for whose sessions packets of this turn wait.
  private enum Awaited {
    case none
    case one(PeerIndex)
    case several
  }

  private let path: DataPath
  private var awaited = Awaited.none
  /// The number of the thread.
  private let number: Int
  /// The queues of this thread, while it runs.
  private var queues: [Int32] = []
  /// The queue that is read first: each in turn.
  private var firstQueue = 0
  /// Reads nothing more, until all packets are sent and queues can be handed over.
  private var isHandingOver = false
  private var generation = 0
  private var meter = LoadMeter(at: .now)
  private let virtioSize: Int
  /// Packets of one turn, and which of them may be sealed.
  private let packets: UnsafeMutablePointer<FairQueue.Packet>
  private let prepared: UnsafeMutablePointer<Prepared>
  /// A copy of the headers for each of them.
  private let scratch: UnsafeMutableRawPointer
  /// An empty virtio header, followed by an ICMP error for the device.
  private let answer: UnsafeMutableRawPointer
  private var answers = AnswerLimit()
  private var outbox: Outbox
  private var queue = FairQueue()
  private var isGone = false
  private let poller: Int32

  private init(_ path: DataPath, _ number: Int) {
    self.path = path
    self.number = number
    virtioSize = path.tun.hasVirtioHeader ? VirtioHeader.size : 0
    packets = .allocate(capacity: Self.most)
    prepared = .allocate(capacity: Self.most)
    scratch = .allocate(byteCount: Superpacket.mostHeaders * Self.most, alignment: 64)
    answer = .allocate(byteCount: VirtioHeader.size + Unreachable.largest, alignment: 64)
    answer.initializeMemory(as: UInt8.self, repeating: 0, count: VirtioHeader.size)
    outbox = Outbox(path.sockets[number], segments: path.offloads.contains(.socketSegmentation))
    poller = path.outboundDuties.pollers[number]
  }

  deinit {
    packets.deallocate()
    prepared.deallocate()
    scratch.deallocate()
    answer.deallocate()
  }

  /// A thread's work: waits for packets with untouched buffers, and runs with them until there are none for a minute.
  static func serve(_ path: DataPath, _ number: Int) {
    let duties = path.outboundDuties
    while true {
      // To make them takes a twentieth of a millisecond of a first packet. A thread without queues may never need any.
      var made = duties.queues(of: number).isEmpty ? nil : Outbound(path, number)
      guard let wakes = duties.wait(in: number) else { return }
      guard wakes else { continue }
      var outbound = made.take() ?? Outbound(path, number)
      guard outbound.run(duties) else { return }
    }
  }

  /// False if the path stops or the device is deleted; true without packets for a minute.
  private mutating func run(_ duties: Duties) -> Bool {
    // It may have been made long ago: until now the thread has slept.
    handOver(duties)
    meter = LoadMeter(at: .now)
    while true {
      if generation != duties.generation { isHandingOver = true }
      readAhead()
      if isGone {
        path.deviceIsGone()
        return false
      }
      if queue.isEmpty {
        if isHandingOver {
          handOver(duties)
          continue
        }
        if let isIdle = wait(duties) { return isIdle }
        continue
      }
      let now = Moment.now
      awaited = .none
      let outcome = path.engine.send(by: ControlTurns.sender &+ 1 &+ number, at: now, mtu: path.turns.mtu) { batch in
        while !outbox.isFull {
          let count = takeTurns(at: now)
          guard count > 0 else { break }
          let ready = prepare(count, &batch)
          for i in 0..<ready { seal(prepared[i], &batch) }
          for i in 0..<count { queue.release(packets[i]) }
          // A superpacket takes a tenth of a millisecond. The next turn may belong to a packet that arrived meanwhile.
          if packets[count &- 1].length > Self.enough { readAhead() }
        }
      }
      let isWaiting = outbox.isEmpty && queue.isEmpty
      outbox.flush()
      if outcome.needsControl {
        if isWaiting, case .one = awaited { path.turns.workAtOnce(messages: 0) } else { path.turns.wakeThread() }
      }
      if duties.canGrow, meter.isHigh(at: now) { duties.grow() }
      DataPath.letOthersWork()
    }
  }

  /// The result of `run`, if it ends.
  private mutating func wait(_ duties: Duties) -> Bool? {
    let before = duties.canGrow ? Moment.now : nil
    let count = withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 16) { identities in
      let count = cwg_poller_wait(poller, identities.baseAddress, 16, DataPath.idleTime)
      for i in 0..<max(0, Int(count)) {
        if identities[i] == Duties.stops { return Int32(-1) }
        if identities[i] == Duties.changes { isHandingOver = true }
      }
      return count == 0 ? 0 : 1
    }
    if let before { meter.record(waited: Moment.now.nanoseconds &- before.nanoseconds) }
    return count > 0 ? nil : count == 0
  }

  private mutating func handOver(_ duties: Duties) {
    isHandingOver = false
    generation = duties.generation
    duties.handOver(by: number)
    queues = duties.queues(of: number).map { path.tun.queues[$0].number }
    firstQueue = 0
  }

  /// Moves all packets of the thread's queues into its own, as far as there is room. Reading costs a tenth of what sealing costs.
  @inline(__always)
  private mutating func readAhead() {
    guard !isHandingOver else { return }
    var now: Moment?
    for i in queues.indices {
      let place = firstQueue &+ i
      readAhead(queues[place < queues.count ? place : place &- queues.count], &now)
    }
    if queues.count > 1 { firstQueue = firstQueue &+ 1 < queues.count ? firstQueue &+ 1 : 0 }
  }

  @inline(__always)
  private mutating func readAhead(_ tun: Int32, _ now: inout Moment?) {
    while let room = queue.room {
      let count = read(tun, room, FairQueue.largest)
      if count > virtioSize {
        let arrival = now ?? .now
        now = arrival
        queue.append(count, lead: virtioSize, at: arrival)
      } else if count < 0, errno != EINTR {
        // Either the link is down (EIO), perhaps temporarily, or it has been deleted.
        if errno == EBADFD || errno == EBADF { isGone = true }
        return
      }
    }
  }

  /// Dequeues the packets of the next turns.
  @inline(__always)
  private mutating func takeTurns(at now: Moment) -> Int {
    var (count, bytes) = (0, 0)
    while count < Self.most, bytes < Self.enough, let packet = queue.next(at: now) {
      packets[count] = packet
      count &+= 1
      bytes &+= packet.length
    }
    return count
  }

  /// Draws a ticket for each packet, or stages or refuses it. Returns the number of packets to seal.
  @inline(__always)
  private mutating func prepare(_ count: Int, _ batch: inout SendBatch) -> Int {
    var ready = 0
    let now = batch.now
    batch.inSection { section in
      for i in 0..<count {
        let whole = packets[i]
        let (packet, length) = (whole.bytes + virtioSize, whole.length &- virtioSize)
        let bytes = UnsafeRawBufferPointer(start: packet, count: length)
        guard let peer = section.route(bytes) else {
          refuse(packet, length, at: now)
          continue
        }
        let virtio = virtioSize > 0 ? VirtioHeader(at: whole.bytes) : VirtioHeader()
        guard let superpacket = try? Superpacket(packet, length, virtio, scratch: scratch + i &* Superpacket.mostHeaders) else { continue }
        switch section.prepare(bytes, superpacket.count, for: peer) {
        case .drop: continue
        case .stage: stage(superpacket, for: peer)
        case .ready(let ticket):
          prepared[ready] = Prepared(superpacket: superpacket, ticket: ticket, slot: i)
          ready &+= 1
        }
      }
    }
    return ready
  }

  @inline(__always)
  private mutating func seal(_ prepared: Prepared, _ batch: inout SendBatch) {
    let whole = packets[prepared.slot]
    var (ticket, tellsSender) = (prepared.ticket, whole.tellsSender)
    let trafficClass = CongestionMarks.outer(ofInner: InternetPacket.trafficClass(whole.bytes + virtioSize))
    for i in 0..<prepared.superpacket.count {
      if outbox.isFull { outbox.flush() }
      guard let (segment, size) = try? prepared.superpacket.segment(i) else { break }
      if tellsSender, size >= ControlledDelay.smallest {
        tellsSender = false
        if !CongestionMarks.mark(segment) { continue }
      }
      let payload = outbox.payload
      payload.copyMemory(from: segment, byteCount: size)
      outbox.append(batch.seal(size, at: payload, with: &ticket), to: ticket.endpoint, trafficClass: trafficClass)
    }
  }

  /// Answers a packet without a peer with an ICMP error.
  private mutating func refuse(_ packet: UnsafeRawPointer, _ length: Int, at now: Moment) {
    guard answers.takes(at: now.nanoseconds) else { return }
    let count = Unreachable.write(about: packet, length, to: answer + virtioSize)
    if count > 0 { _ = write(path.tun.descriptor.number, answer, virtioSize &+ count) }
  }

  private mutating func stage(_ superpacket: Superpacket, for peer: PeerIndex) {
    switch awaited {
    case .none: awaited = .one(peer)
    case .one(peer), .several: break
    case .one: awaited = .several
    }
    for i in 0..<superpacket.count {
      guard let (segment, size) = try? superpacket.segment(i) else { return }
      path.turns.staged.append(UnsafeRawBufferPointer(start: segment, count: size), for: peer)
    }
  }
}
