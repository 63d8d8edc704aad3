/// A hash table of single-address prefixes, the most common kind on a hub with many peers. The trie is searched after it. Open addressing,
/// at most half full. The administrator chooses its contents, not the senders. Its owner frees it.
struct HostTable {
  private struct Entry {
    var high: UInt64 = 0
    var low: UInt64 = 0
    var value = PrefixTrie.none
  }

  private var entries: UnsafeMutablePointer<Entry>
  private var capacity = 8
  private(set) var count = 0

  init() {
    entries = .allocate(capacity: capacity)
    entries.initialize(repeating: Entry(), count: capacity)
  }

  func deallocate() { entries.deallocate() }

  @inline(__always)
  func lookUp(_ high: UInt64, _ low: UInt64) -> Int32 {
    if count == 0 { return PrefixTrie.none }
    var place = home(high, low)
    while entries[place].value >= 0 {
      if entries[place].high == high, entries[place].low == low { return entries[place].value }
      place = next(place)
    }
    return PrefixTrie.none
  }

  mutating func insert(_ high: UInt64, _ low: UInt64, _ value: Int32) {
    if 2 * (count + 1) > capacity { grow() }
    var place = home(high, low)
    while entries[place].value >= 0, entries[place].high != high || entries[place].low != low { place = next(place) }
    if entries[place].value < 0 { count += 1 }
    entries[place] = Entry(high: high, low: low, value: value)
  }

  mutating func remove(_ high: UInt64, _ low: UInt64) {
    var place = home(high, low)
    while entries[place].value >= 0, entries[place].high != high || entries[place].low != low { place = next(place) }
    guard entries[place].value >= 0 else { return }
    count -= 1
    // Move the following entries up, so that no search ends at the gap.
    var gap = place
    var probe = next(gap)
    while entries[probe].value >= 0 {
      let distance = (probe - home(entries[probe].high, entries[probe].low)) & (capacity - 1)
      if distance >= (probe - gap) & (capacity - 1) {
        entries[gap] = entries[probe]
        gap = probe
      }
      probe = next(probe)
    }
    entries[gap] = Entry()
  }

  @inline(__always)
  private func home(_ high: UInt64, _ low: UInt64) -> Int {
    let mixed = (high ^ (low &* 0x9e37_79b9_7f4a_7c15)) &* 0xbf58_476d_1ce4_e5b9
    return Int(truncatingIfNeeded: mixed >> 32) & (capacity - 1)
  }

  @inline(__always)
  private func next(_ place: Int) -> Int { (place + 1) & (capacity - 1) }

  private mutating func grow() {
    let old = UnsafeMutableBufferPointer(start: entries, count: capacity)
    capacity *= 2
    entries = .allocate(capacity: capacity)
    entries.initialize(repeating: Entry(), count: capacity)
    count = 0
    for entry in old where entry.value >= 0 { insert(entry.high, entry.low, entry.value) }
    old.deallocate()
  }
}
