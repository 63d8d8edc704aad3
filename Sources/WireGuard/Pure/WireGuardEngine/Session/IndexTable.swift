/// A table from local indices to sessions: open addressing, at most half full. The indices are random, so they are their own hash. A sender
/// can choose the index of a message, but not the contents of the table. A receiving section owns it.
struct IndexTable {
  private var slots: UnsafeMutablePointer<Slot>
  private var capacity: Int
  private(set) var count = 0
  /// The number of lowest bits that all indices here have in common: those of the shard.
  private let commonBits: Int

  private struct Slot {
    var index: UInt32 = 0
    var session: UnsafeMutablePointer<ReceivingSession>?
  }

  init(commonBits: Int = 0) {
    self.commonBits = commonBits
    capacity = 16
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: Slot(), count: capacity)
  }

  func deallocate() { slots.deallocate() }

  @inline(__always)
  subscript(index: UInt32) -> UnsafeMutablePointer<ReceivingSession>? {
    var place = home(index)
    while let session = slots[place].session {
      if slots[place].index == index { return session }
      place = next(place)
    }
    return nil
  }

  mutating func insert(_ session: UnsafeMutablePointer<ReceivingSession>) {
    if 2 * (count + 1) > capacity { grow() }
    var place = home(session.pointee.localIndex)
    while slots[place].session != nil { place = next(place) }
    slots[place] = Slot(index: session.pointee.localIndex, session: session)
    count += 1
  }

  mutating func remove(_ index: UInt32) {
    var place = home(index)
    while slots[place].session != nil, slots[place].index != index { place = next(place) }
    guard slots[place].session != nil else { return }
    count -= 1
    // Move the following entries up, so that no search ends at the gap.
    var gap = place
    var probe = next(gap)
    while slots[probe].session != nil {
      let distance = (probe - home(slots[probe].index)) & (capacity - 1)
      if distance >= (probe - gap) & (capacity - 1) {
        slots[gap] = slots[probe]
        gap = probe
      }
      probe = next(probe)
    }
    slots[gap] = Slot()
  }

  @inline(__always)
  private func home(_ index: UInt32) -> Int { Int(index >> UInt32(truncatingIfNeeded: commonBits)) & (capacity - 1) }

  @inline(__always)
  private func next(_ place: Int) -> Int { (place + 1) & (capacity - 1) }

  private mutating func grow() {
    let old = UnsafeMutableBufferPointer(start: slots, count: capacity)
    capacity *= 2
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: Slot(), count: capacity)
    count = 0
    for slot in old { if let session = slot.session { insert(session) } }
    old.deallocate()
  }
}
