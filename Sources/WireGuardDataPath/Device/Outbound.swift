internal import CWireGuardIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import WireGuardEngine

/// From the TUN device to the sockets: reads packets, cuts up superpackets, seals, sends. One thread; nothing is allocated, locked or told to
/// another thread for a packet, only for a batch.
struct Outbound: ~Copyable {
  private static let largest = 65_535
  /// Room before the packet, for headers that are written in front of a segment.
  private static let lead = 512

  private let path: DataPath
  private let tun: Int32
  private let virtioSize: Int
  private let input: UnsafeMutableRawPointer
  private let scratch: UnsafeMutableRawPointer
  private var outbox: Outbox
  private var queue = StandingQueue()
  /// One packet of the next is to be marked or dropped: the queue before us never empties.
  private var tellsSender = false
  /// The last packet's destination and where it led: packets come in trains.
  private let poller: Int32

  init(_ path: DataPath) throws(SystemError) {
    self.path = path
    tun = path.tun.descriptor.number
    virtioSize = path.tun.hasVirtioHeader ? VirtioHeader.size : 0
    input = .allocate(byteCount: Self.lead + VirtioHeader.size + Self.largest + 64, alignment: 64)
    scratch = .allocate(byteCount: 256, alignment: 64)
    outbox = Outbox(path.sockets, segments: path.offloads.contains(.socketSegmentation))
    poller = cwg_poller()
    guard poller >= 0, cwg_poller_add(poller, tun, 0) == 0, cwg_poller_add(poller, path.stopping, 1) == 0 else {
      throw .last("watch the TUN device")
    }
  }

  deinit {
    input.deallocate()
    scratch.deallocate()
    close(poller)
  }

  /// Until the path stops, or the device is gone.
  mutating func run() {
    var identities: [UInt32] = [0, 0]
    while true {
      var isDrained = false
      var isGone = false
      let mtu = path.mtu
      let now = Moment.now
      let outcome = path.engine.send(at: now, mtu: mtu) { batch in
        while !outbox.isFull {
          let count = read(tun, input + Self.lead, VirtioHeader.size + Self.largest)
          if count > virtioSize {
            take(count, &batch)
          } else if count < 0 {
            if errno == EINTR { continue }
            isDrained = true
            // The link is down (EIO), which it may not stay; or it has been deleted.
            isGone = errno == EBADFD || errno == EBADF
            return
          }
        }
      }
      outbox.flush()
      if outcome.needsControl { path.wakeControl() }
      if isGone { return path.deviceIsGone() }
      guard isDrained else {
        tellsSender = queue.stands(at: now)
        continue
      }
      queue.empty()
      let count = cwg_poller_wait(poller, &identities, 2)
      for i in 0..<max(0, Int(count)) where identities[i] == 1 { return }
    }
  }

  /// One read's worth.
  @inline(__always)
  private mutating func take(_ count: Int, _ batch: inout SendBatch) {
    let packet = input + (Self.lead &+ virtioSize)
    let length = count &- virtioSize
    guard let peer = batch.route(UnsafeRawBufferPointer(start: packet, count: length)) else { return }
    let virtio = virtioSize > 0 ? VirtioHeader(at: input + Self.lead) : VirtioHeader()
    guard let superpacket = try? Superpacket(packet, length, virtio, scratch: scratch) else { return }
    switch batch.prepare(UnsafeRawBufferPointer(start: packet, count: length), for: peer) {
    case .drop: return
    case .stage: stage(superpacket, from: 0, for: peer)
    case .ready(let destination):
      let trafficClass = CongestionMarks.outer(ofInner: InternetPacket.trafficClass(packet))
      for i in 0..<superpacket.count {
        if outbox.isFull { outbox.flush() }
        guard let (segment, size) = try? superpacket.segment(i) else { return }
        if tellsSender, size >= StandingQueue.smallest {
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

  private mutating func stage(_ superpacket: Superpacket, from first: Int, for peer: PeerIndex) {
    for i in first..<superpacket.count {
      guard let (segment, size) = try? superpacket.segment(i) else { return }
      path.staged.append(UnsafeRawBufferPointer(start: segment, count: size), for: peer)
    }
  }
}
