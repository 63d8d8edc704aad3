import Glibc
import NetworkTypes
import WireGuardEngine

/// Threads that seal for one peer, the worst case: they share its session and the sending section.
final class SharedSession: @unchecked Sendable {
  // Sound: the engine is made for several threads; all else is constants.
  private static let length = 1420
  private static let lead = 64
  private static let stride = (lead + length + 16 + 15 + 528 + 63) / 64 * 64
  private static let now = Moment(nanoseconds: 2_000_000_000)

  private let hub = Node(number: 0)
  private let node: Node
  /// Of each thread.
  private let slabs: [UnsafeMutableRawPointer]
  /// The packets that are taken from the device at once: their number, their segments, and the bytes of a segment.
  let packets: Int
  let segments: Int
  let length: Int

  init(threads: Int, packets: Int, segments: Int, length: Int) throws {
    slabs = (0..<threads).map { _ in .allocate(byteCount: Self.stride, alignment: 64) }
    for slab in slabs { slab.initializeMemory(as: UInt8.self, repeating: 0, count: Self.stride) }
    node = Node(number: 1, senders: threads)
    self.packets = packets
    self.segments = segments
    self.length = length
    hub.configure([node.change])
    node.configure([hub.change(to: Node.address(0))])
    try node.connect(to: hub, at: Self.now.nanoseconds)
  }

  deinit { for slab in slabs { slab.deallocate() } }

  /// Nanoseconds of `rounds` batches, of all threads together. `seals` false: only the part in the shared section.
  func run(threads: Int, rounds: Int, seals: Bool) -> Double {
    var handles: [pthread_t] = []
    let start = Self.monotonic
    for thread in 0..<threads {
      var handle = pthread_t()
      let work = Work { self.work(thread, rounds: rounds / threads, seals: seals) }
      pthread_create(
        &handle, nil,
        { context in
          if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
          return nil
        }, Unmanaged.passRetained(work).toOpaque())
      handles.append(handle)
    }
    for handle in handles { pthread_join(handle, nil) }
    return Double(Self.monotonic - start)
  }

  private final class Work {
    let body: () -> Void

    init(_ body: @escaping () -> Void) { self.body = body }
  }

  private static var monotonic: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  private func work(_ thread: Int, rounds: Int, seals: Bool) {
    let payload = slabs[thread] + Self.lead
    let packet = UnsafeRawBufferPointer(start: payload, count: length)
    let peer = PeerIndex(slot: 0)
    var tickets = [SendVerdict](repeating: .drop, count: packets)
    for _ in 0..<rounds {
      _ = node.engine.send(by: thread, at: Self.now, mtu: Self.length) { batch in
        batch.inSection { section in for i in 0..<packets { tickets[i] = section.prepare(packet, segments, for: peer) } }
        guard seals else { return }
        for i in 0..<packets {
          guard case .ready(var ticket) = tickets[i] else { continue }
          for _ in 0..<segments { _ = batch.seal(length, at: payload, with: &ticket) }
        }
      }
    }
  }
}

/// Nanoseconds of a batch for one thread, and of its part in the shared section; `gain`: how many times as fast `threads` threads are.
struct SharedCost {
  let whole: Double
  let shared: Double
  let gain: Double

  init(packets: Int, segments: Int, length: Int, threads: Int) throws {
    let session = try SharedSession(threads: threads, packets: packets, segments: segments, length: length)
    let rounds = 1_000_000 / (packets * segments)
    var series: (whole: [Double], shared: [Double], gain: [Double]) = ([], [], [])
    for _ in 0..<9 {
      let one = session.run(threads: 1, rounds: rounds, seals: true)
      series.whole.append(one / Double(rounds))
      series.shared.append(session.run(threads: 1, rounds: rounds, seals: false) / Double(rounds))
      series.gain.append(one / session.run(threads: threads, rounds: rounds / threads * threads, seals: true))
    }
    whole = median(series.whole)
    shared = median(series.shared)
    gain = median(series.gain)
  }
}
