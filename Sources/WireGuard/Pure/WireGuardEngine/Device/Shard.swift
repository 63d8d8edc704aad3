internal import Synchronization

/// A part of the peers, with a receiving section of its own. The lowest bits of a peer's local indices are the number of its shard, so the
/// kernel can pass each session's datagrams to the same thread, and different threads hold different sections.
final class Shard: @unchecked Sendable {
  // Sound: `state` is accessed only in `section`, and `peerCount` only by control.
  /// More would not help: a thread serves at least one.
  static let most = 64

  let section = Section()
  let state: UnsafeMutablePointer<ReceivingState>
  /// Its batches have left work for control.
  let hasPending = Atomic<Bool>(false)
  var peerCount = 0

  /// `bits`: how many bits of an index are the number of the shard.
  init(bits: Int) {
    // With cache lines of its own.
    state = UnsafeMutableRawPointer.allocate(byteCount: max(256, MemoryLayout<ReceivingState>.stride), alignment: 128)
      .bindMemory(to: ReceivingState.self, capacity: 1)
    state.initialize(to: ReceivingState(sessions: IndexTable(commonBits: bits)))
  }

  deinit {
    state.pointee.sessions.deallocate()
    UnsafeMutableRawPointer(state).deallocate()
  }
}
