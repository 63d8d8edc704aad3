internal import CWireGuardIO
internal import Glibc
internal import NetworkTypes
internal import WireGuardEngine

/// Sealed records on their way to the sockets. They lie one after another in one slab, in runs of equal size and destination. Each run
/// passes the kernel's stack once. Nothing is allocated after `init`.
struct Outbox: ~Copyable {
  private struct Run {
    var destination: DatagramAddress
    var start: UnsafeMutableRawPointer
    var bytes: Int
    var segment: Int
    var count: Int
    var trafficClass: UInt8
    var isOpen: Bool
  }

  /// UDP_MAX_SEGMENTS of older kernels.
  private static let mostSegments = 64
  /// The payload of an IPv4 datagram, with space for options.
  private static let mostBytes = 65_440
  private static let mostRuns = CWG_BATCH
  /// Space before the first record and behind the last, as `SendBatch.seal` requires.
  private static let lead = 64
  private static let tail = 1024
  /// The number of sealed bytes after which a batch is sent. More would only leave the processor's cache.
  private static let enough = 3 * 65_536
  private static let largestPacket = 65_535

  private let slab: UnsafeMutableRawPointer
  private let capacity: Int
  private var used = 0
  private let runs: UnsafeMutablePointer<Run>
  /// The destination of each run, in the kernel's form.
  private let addresses: UnsafeMutablePointer<cwg_address>
  /// The local address of each run, if it is not the kernel's choice.
  private let locals: UnsafeMutablePointer<cwg_local>
  private var runCount = 0
  private let messages: UnsafeMutablePointer<cwg_outgoing>
  private let pieces: UnsafeMutablePointer<iovec>
  private let singles: UnsafeMutablePointer<cwg_outgoing>
  private let singlePieces: UnsafeMutablePointer<iovec>
  private let oneByte: UnsafeMutableRawPointer
  private let sockets: SocketNumbers
  private var segments: Bool
  /// The number of flushes without segmentation, after a path rejected it.
  private var pause = 0
  private let needsUnequalTail: Bool

  init(_ sockets: SocketNumbers, segments: Bool) {
    self.sockets = sockets
    self.segments = segments
    needsUnequalTail = KernelRelease.current.manglesEqualSegments
    capacity = Self.enough + Self.largestPacket + 4096
    slab = .allocate(byteCount: Self.lead + capacity + Self.tail, alignment: 64)
    runs = .allocate(capacity: Self.mostRuns)
    addresses = .allocate(capacity: Self.mostRuns)
    locals = .allocate(capacity: Self.mostRuns)
    messages = .allocate(capacity: Self.mostRuns)
    pieces = .allocate(capacity: Self.mostRuns * 2)
    singles = .allocate(capacity: Self.mostRuns)
    singlePieces = .allocate(capacity: Self.mostRuns)
    oneByte = .allocate(byteCount: 1, alignment: 1)
    oneByte.storeBytes(of: 0, as: UInt8.self)
  }

  deinit {
    slab.deallocate()
    runs.deallocate()
    addresses.deallocate()
    locals.deallocate()
    messages.deallocate()
    pieces.deallocate()
    singles.deallocate()
    singlePieces.deallocate()
    oneByte.deallocate()
  }

  var isEmpty: Bool {
    @inline(__always) get { runCount == 0 }
  }

  /// True if there is no room for another packet of any size.
  var isFull: Bool {
    @inline(__always) get { used >= Self.enough || runCount == Self.mostRuns }
  }

  /// The place for the next record's payload, at most 65,535 bytes. `isFull` has to be false.
  var payload: UnsafeMutableRawPointer {
    @inline(__always) get { slab + (Self.lead &+ used &+ ProtocolConstants.transportHeader) }
  }

  /// Adds the record that now lies before and behind `payload`.
  @inline(__always)
  mutating func append(_ length: Int, to destination: DatagramAddress, trafficClass: UInt8) {
    let record = slab + (Self.lead &+ used)
    used &+= length
    if runCount > 0 {
      let last = runs + (runCount &- 1)
      if last.pointee.isOpen, length <= last.pointee.segment, last.pointee.count < Self.mostSegments,
        last.pointee.bytes &+ length <= Self.mostBytes, last.pointee.trafficClass == trafficClass,
        last.pointee.destination == destination
      {
        last.pointee.bytes &+= length
        last.pointee.count &+= 1
        if length < last.pointee.segment { last.pointee.isOpen = false }
        return
      }
    }
    precondition(runCount < Self.mostRuns)
    addresses[runCount] = destination.socketAddress
    if destination.local != .any { locals[runCount] = destination.local.address(destination.address.family) }
    runs[runCount] = Run(
      destination: destination, start: record, bytes: length, segment: length, count: 1,
      trafficClass: trafficClass, isOpen: true)
    runCount &+= 1
  }

  /// Sends everything. Records that the network rejects are lost, which the protocol allows.
  mutating func flush() {
    var first = 0
    while first < runCount {
      var end = first &+ 1
      let isV6 = runs[first].destination.address.family == .v6
      while end < runCount, (runs[end].destination.address.family == .v6) == isV6 { end &+= 1 }
      send(first..<end, on: isV6 ? sockets.v6 : sockets.v4)
      first = end
    }
    runCount = 0
    used = 0
    if pause > 0 { pause &-= 1 }
  }

  private func local(_ index: Int) -> UnsafePointer<cwg_local>? {
    runs[index].destination.local == .any ? nil : UnsafePointer(locals + index)
  }

  private mutating func send(_ range: Range<Int>, on socket: Int32) {
    guard segments, pause == 0 else {
      for i in range { sendSingly(i, on: socket) }
      return
    }
    for i in range {
      let run = runs[i]
      let from = pieces + i &* 2
      from[0] = iovec(iov_base: run.start, iov_len: run.bytes)
      var count: UInt32 = 1
      if needsUnequalTail, run.count > 1, run.isOpen {
        from[1] = iovec(iov_base: oneByte, iov_len: 1)
        count = 2
      }
      messages[i] = cwg_outgoing(
        to: addresses + i, from: local(i), pieces: from, count: count,
        segment: run.count > 1 ? UInt16(truncatingIfNeeded: run.segment) : 0, traffic_class: run.trafficClass)
    }
    var next = range.lowerBound
    while next < range.upperBound {
      let sent = Int(cwg_send(socket, messages + next, UInt32(range.upperBound &- next)))
      if sent > 0 {
        next &+= sent
        continue
      }
      let reason = errno
      if runs[next].count > 1, [EIO, EINVAL, EMSGSIZE, EOPNOTSUPP].contains(reason) {
        // Permanent: a device that cannot compute checksums (EIO). Temporary: a path whose MTU is smaller than a record.
        if reason == EIO || reason == EOPNOTSUPP { segments = false } else { pause = 1024 }
        sendSingly(next, on: socket)
      }
      next &+= 1
    }
  }

  /// Sends without segmentation: one message per record.
  private mutating func sendSingly(_ index: Int, on socket: Int32) {
    let run = runs[index]
    var offset = 0
    while offset < run.bytes {
      var count = 0
      while count < Self.mostRuns, offset < run.bytes {
        let length = min(run.segment, run.bytes &- offset)
        singlePieces[count] = iovec(iov_base: run.start + offset, iov_len: length)
        singles[count] = cwg_outgoing(
          to: addresses + index, from: local(index), pieces: singlePieces + count, count: 1, segment: 0, traffic_class: run.trafficClass)
        offset &+= length
        count &+= 1
      }
      var next = 0
      while next < count {
        let sent = Int(cwg_send(socket, singles + next, UInt32(count &- next)))
        next &+= max(1, sent)
      }
    }
  }
}
