internal import CWireGuardIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import WireGuardControl
internal import WireGuardEngine

/// The path from the TUN device to the sockets: reads packets, splits superpackets, seals, sends. It is one thread. Allocation, locks and
/// wake-ups of other threads happen per batch, never per packet.
struct Outbound: ~Copyable {
  /// A packet of more bytes than this is followed by a read from the device before the next packet's turn.
  private static let long = 16_384

  private let path: DataPath
  private let tun: Int32
  private let virtioSize: Int
  private let scratch: UnsafeMutableRawPointer
  /// An empty virtio header, followed by an ICMP error for the device.
  private let answer: UnsafeMutableRawPointer
  private var answers = AnswerLimit()
  private var outbox: Outbox
  private var queue = FairQueue()
  private var isGone = false
  private let poller: Int32

  init(_ path: DataPath) throws(SystemError) {
    self.path = path
    tun = path.tun.descriptor.number
    virtioSize = path.tun.hasVirtioHeader ? VirtioHeader.size : 0
    scratch = .allocate(byteCount: 256, alignment: 64)
    answer = .allocate(byteCount: VirtioHeader.size + Unreachable.largest, alignment: 64)
    answer.initializeMemory(as: UInt8.self, repeating: 0, count: VirtioHeader.size)
    outbox = Outbox(path.sockets, segments: path.offloads.contains(.socketSegmentation))
    poller = cwg_poller()
    guard poller >= 0, cwg_poller_add(poller, tun, 0) == 0, cwg_poller_add(poller, path.stopping, 1) == 0 else {
      throw .last("watch the TUN device")
    }
  }

  deinit {
    scratch.deallocate()
    answer.deallocate()
    close(poller)
  }

  /// Runs until the path stops or the device is deleted.
  mutating func run() {
    var identities: [UInt32] = [0, 0]
    while true {
      readAhead()
      if isGone { return path.deviceIsGone() }
      if queue.isEmpty {
        let count = cwg_poller_wait(poller, &identities, 2)
        for i in 0..<max(0, Int(count)) where identities[i] == 1 { return }
        continue
      }
      let now = Moment.now
      let outcome = path.engine.send(at: now, mtu: path.mtu) { batch in
        while !outbox.isFull, let packet = queue.next(at: now) {
          take(packet, &batch)
          queue.release(packet)
          // A superpacket takes a tenth of a millisecond. The next turn may belong to a packet that arrived meanwhile.
          if packet.length > Self.long { readAhead() }
        }
      }
      outbox.flush()
      if outcome.needsControl { path.wakeControl() }
      DataPath.letOthersWork()
    }
  }

  /// Moves all packets of the device into the queue, as far as there is room. Reading costs a tenth of what sealing costs.
  @inline(__always)
  private mutating func readAhead() {
    var now: Moment?
    while let room = queue.room {
      let count = read(tun, room, FairQueue.largest)
      if count > virtioSize {
        let arrival = now ?? .now
        now = arrival
        queue.append(count, lead: virtioSize, at: arrival)
      } else if count < 0, errno != EINTR {
        // Either the link is down (EIO), perhaps temporarily, or it has been deleted.
        isGone = errno == EBADFD || errno == EBADF
        return
      }
    }
  }

  /// Performs one read.
  @inline(__always)
  private mutating func take(_ whole: FairQueue.Packet, _ batch: inout SendBatch) {
    let packet = whole.bytes + virtioSize
    let length = whole.length &- virtioSize
    var tellsSender = whole.tellsSender
    guard let peer = batch.route(UnsafeRawBufferPointer(start: packet, count: length)) else { return refuse(packet, length, at: batch.now) }
    let virtio = virtioSize > 0 ? VirtioHeader(at: whole.bytes) : VirtioHeader()
    guard let superpacket = try? Superpacket(packet, length, virtio, scratch: scratch) else { return }
    switch batch.prepare(UnsafeRawBufferPointer(start: packet, count: length), for: peer) {
    case .drop: return
    case .stage: stage(superpacket, from: 0, for: peer)
    case .ready(let destination):
      let trafficClass = CongestionMarks.outer(ofInner: InternetPacket.trafficClass(packet))
      for i in 0..<superpacket.count {
        if outbox.isFull { outbox.flush() }
        guard let (segment, size) = try? superpacket.segment(i) else { return }
        if tellsSender, size >= ControlledDelay.smallest {
          tellsSender = false
          if !CongestionMarks.mark(segment) { continue }
        }
        let payload = outbox.payload
        payload.copyMemory(from: segment, byteCount: size)
        let record = batch.seal(size, at: payload, for: peer)
        guard record > 0 else { return stage(superpacket, from: i, for: peer) }
        outbox.append(record, to: destination, trafficClass: trafficClass)
      }
    }
  }

  /// Answers a packet without a peer with an ICMP error.
  private mutating func refuse(_ packet: UnsafeRawPointer, _ length: Int, at now: Moment) {
    guard answers.takes(at: now.nanoseconds) else { return }
    let count = Unreachable.write(about: packet, length, to: answer + virtioSize)
    if count > 0 { _ = write(tun, answer, virtioSize &+ count) }
  }

  private mutating func stage(_ superpacket: Superpacket, from first: Int, for peer: PeerIndex) {
    for i in first..<superpacket.count {
      guard let (segment, size) = try? superpacket.segment(i) else { return }
      path.staged.append(UnsafeRawBufferPointer(start: segment, count: size), for: peer)
    }
  }
}
