internal import NetworkTypes

/// Positive answers, until their least time to live ends. The oldest make room for new ones: 4 MiB in all.
struct AnswerCache: Sendable {
  /// Bytes of all answers, and their number. With the index that is less than 4 MiB.
  static let room = 3 << 20
  static let most = 8192
  /// A longer answer is not kept.
  static let longest = 8192

  private struct Entry {
    var hash: UInt64
    var variant: UInt16
    /// The upstream group, in a generation of it.
    var partition: UInt32
    var offset: Int
    var length: Int
    var stored: Moment
    var expires: Moment
  }

  /// A ring: `first` is the oldest of the entries, and their bytes lie in this order in `bytes`, which is a ring too.
  private var entries: [Entry] = []
  private var first = 0
  private var count = 0
  private var bytes: [UInt8] = []
  private var end = 0
  /// The entry of each hash.
  private var index: NumberIndex
  private let seed: UInt64

  /// - Parameter seed: unpredictable.
  init(seed: UInt64) {
    self.seed = seed
    index = NumberIndex(seed: seed)
  }

  mutating func removeAll() { self = AnswerCache(seed: seed) }

  var isEmpty: Bool { index.isEmpty }

  /// Heap bytes, nearly.
  var memory: Int { bytes.capacity + entries.capacity * MemoryLayout<Entry>.stride + index.memory }

  /// Passes a live answer and its age in seconds. Returns whether there was one.
  func find(
    _ key: QuestionKey, _ question: Span<UInt8>, _ range: Range<Int>, partition: UInt32, at now: Moment,
    _ body: (Span<UInt8>, _ age: UInt32) -> Void
  ) -> Bool {
    guard let number = index[key.hash ^ UInt64(partition)] else { return false }
    let entry = entries[number]
    guard entry.partition == partition, entry.variant == key.variant, now < entry.expires else { return false }
    let answer = bytes.span.extracting(entry.offset..<entry.offset + entry.length)
    guard question.isEqualIgnoringCase(range, answer, from: MessageFormat.header) else { return false }
    let age = (now - entry.stored).components.seconds
    body(answer, UInt32(clamping: age))
    return true
  }

  /// Keeps a prepared answer, if it is positive and may be kept.
  mutating func store(_ answer: Span<UInt8>, _ outline: AnswerOutline, _ key: QuestionKey, partition: UInt32, at now: Moment) {
    guard outline.code == ResponseCode.noError, outline.answers > 0, !outline.isTruncated, outline.leastTTL > 0,
      key.variant & HeaderFlags.recursionDesired != 0, answer.count <= Self.longest
    else { return }
    makeRoom(for: answer.count)
    let offset = end
    if offset == bytes.count {
      for i in 0..<answer.count { bytes.append(answer[i]) }
    } else {
      let common = min(answer.count, bytes.count - offset)
      for i in 0..<common { bytes[offset + i] = answer[i] }
      for i in common..<answer.count { bytes.append(answer[i]) }
    }
    end = offset + answer.count
    let hash = key.hash ^ UInt64(partition)
    let entry = Entry(
      hash: hash, variant: key.variant, partition: partition, offset: offset, length: answer.count, stored: now,
      expires: now + .seconds(Int64(outline.leastTTL)))
    let number = (first + count) % Self.most
    if number == entries.count { entries.append(entry) } else { entries[number] = entry }
    count += 1
    index.set(number, for: hash)
  }

  /// Removes the oldest entries until there is a place, and room behind `end`.
  private mutating func makeRoom(for length: Int) {
    if count == Self.most { removeOldest() }
    if end + length > Self.room {
      // The rest of the ring stays free; entries there are the oldest.
      while count > 0, entries[first].offset >= end { removeOldest() }
      end = 0
    }
    while count > 0, entries[first].offset >= end, entries[first].offset < end + length { removeOldest() }
  }

  private mutating func removeOldest() {
    index.remove(entries[first].hash, of: first)
    first = (first + 1) % Self.most
    count -= 1
  }
}
