/// Small numbers by 64-bit keys, in one flat table: a search reads one line of the processor's cache. A `Dictionary` hashes each key with
/// SipHash, which a forwarded question would pay for a dozen times.
///
/// A key's place is its product with a secret odd factor. Clients cannot choose keys that share a place.
struct NumberIndex: Sendable {
  private struct Entry: BitwiseCopyable {
    var key: UInt64 = 0
    /// -1: there is none.
    var number: Int32 = -1
  }

  /// A power of two, at least twice the count.
  private var entries: [Entry] = []
  private let factor: UInt64
  private(set) var count = 0

  init(seed: UInt64) { factor = seed | 1 }

  var isEmpty: Bool { count == 0 }

  /// Heap bytes.
  var memory: Int { entries.capacity * MemoryLayout<Entry>.stride }

  subscript(key: UInt64) -> Int? {
    guard count > 0 else { return nil }
    let entry = entries[place(of: key)]
    return entry.number < 0 ? nil : Int(entry.number)
  }

  /// - Parameter number: at most 2^31 - 1.
  mutating func set(_ number: Int, for key: UInt64) {
    if 2 * (count + 1) > entries.count { grow() }
    let place = place(of: key)
    if entries[place].number < 0 { count += 1 }
    entries[place] = Entry(key: key, number: Int32(number))
  }

  /// Removes the key if it has this number.
  mutating func remove(_ key: UInt64, of number: Int) {
    guard count > 0 else { return }
    var hole = place(of: key)
    guard entries[hole].number == Int32(number) else { return }
    count -= 1
    entries[hole].number = -1
    // Those behind it that belong at the hole or before it move up, so that each is found from its home without a gap.
    let mask = entries.count - 1
    var next = (hole + 1) & mask
    while entries[next].number >= 0 {
      let home = home(of: entries[next].key)
      if (next - home) & mask >= (next - hole) & mask {
        entries[hole] = entries[next]
        entries[next].number = -1
        hole = next
      }
      next = (next + 1) & mask
    }
  }

  /// The place of the key, or the free one where it would be.
  private func place(of key: UInt64) -> Int {
    let mask = entries.count - 1
    var place = home(of: key)
    while entries[place].number >= 0, entries[place].key != key { place = (place + 1) & mask }
    return place
  }

  private func home(of key: UInt64) -> Int {
    Int(truncatingIfNeeded: (key &* factor) >> UInt64(truncatingIfNeeded: entries.count.leadingZeroBitCount + 1))
  }

  private mutating func grow() {
    let old = entries
    entries = Array(repeating: Entry(), count: max(64, 2 * old.count))
    count = 0
    for entry in old where entry.number >= 0 { set(Int(entry.number), for: entry.key) }
  }
}
