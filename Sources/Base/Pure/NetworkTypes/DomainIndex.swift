/// The search of `DomainSet` and `DomainMap`: many domain names, stored one after the other in one buffer.
///
/// An open-addressing table has the start of each; one byte of its hash beside it rejects almost every miss without access to the buffer. A
/// look-up hashes the name once, from its end, and checks every label. Memory: the names with one byte each for the length, what is stored
/// with them, and 5 bytes a slot; at most half of the slots are used. At most 4 GiB of names.
struct DomainIndex: Sendable {
  /// A length byte and the name, without dots at its ends, then `extra` bytes; name after name.
  private(set) var names: [UInt8] = []
  /// The start of a name in `names`; meaningful if the tag is not 0.
  private var places: [UInt32]
  /// 0: free. Otherwise a byte of the hash.
  private var tags: [UInt8]
  private var mask: Int
  private let extra: Int
  private(set) var count = 0

  /// - Parameters:
  ///   - count: the number of names that are expected; more are possible.
  ///   - bytes: the length of the names together.
  ///   - extra: the number of bytes that are stored with each name.
  init(count: Int, bytes: Int = 0, extra: Int = 0) {
    var size = 16
    while size < count * 2 { size *= 2 }
    mask = size - 1
    places = Array(repeating: 0, count: size)
    tags = Array(repeating: 0, count: size)
    self.extra = extra
    names.reserveCapacity(bytes)
  }

  /// Heap bytes.
  var memory: Int { names.capacity + places.capacity * 4 + tags.capacity }

  /// Whether the name, or a part of it from a label's start, is there.
  func containsSuffix(of name: Span<UInt8>) -> Bool {
    var hash = DomainHash()
    var start = name.count
    while start > 0 {
      start -= 1
      let byte = name[start]
      if byte == UInt8(ascii: "."), place(of: name, from: start + 1, hash.value) != nil { return true }
      hash.add(byte)
    }
    return place(of: name, from: 0, hash.value) != nil
  }

  /// The place behind the longest name that is this one, or a part of it from a label's start: there its extra bytes begin.
  func placeBehindLongestSuffix(of name: Span<UInt8>) -> Int? {
    guard count > 0 else { return nil }
    var hash = DomainHash()
    var start = name.count
    var found: Int?
    while start > 0 {
      start -= 1
      let byte = name[start]
      if byte == UInt8(ascii: "."), let place = place(of: name, from: start + 1, hash.value) { found = place + name.count - start }
      hash.add(byte)
    }
    return place(of: name, from: 0, hash.value).map { $0 + 1 + name.count } ?? found
  }

  /// Adds a name of 1 to 255 bytes; `false` if it is there already, or there is no room.
  mutating func insert(_ name: Span<UInt8>, with bytes: [UInt8] = []) -> Bool {
    var hash = DomainHash()
    var i = name.count
    while i > 0 {
      i -= 1
      hash.add(name[i])
    }
    let value = hash.value
    guard place(of: name, from: 0, value) == nil, let place = UInt32(exactly: names.count), let length = UInt8(exactly: name.count),
      bytes.count == extra
    else { return false }
    if (count + 1) * 2 > places.count { grow() }
    names.append(length)
    for i in 0..<name.count { names.append(name[i]) }
    names.append(contentsOf: bytes)
    record(place, hash: value)
    count += 1
    return true
  }

  private mutating func record(_ place: UInt32, hash: UInt64) {
    var slot = Int(truncatingIfNeeded: hash) & mask
    while tags[slot] != 0 { slot = (slot + 1) & mask }
    places[slot] = place
    tags[slot] = DomainHash.tag(of: hash)
  }

  private mutating func grow() {
    let size = places.count * 2
    mask = size - 1
    places = Array(repeating: 0, count: size)
    tags = Array(repeating: 0, count: size)
    var place = 0
    while place < names.count {
      let length = Int(names[place])
      var hash = DomainHash()
      for i in stride(from: place + length, to: place, by: -1) { hash.add(names[i]) }
      record(UInt32(truncatingIfNeeded: place), hash: hash.value)
      place += 1 + length + extra
    }
  }

  /// The place of the rest of the name, from a label's start, if it is there.
  private func place(of name: Span<UInt8>, from start: Int, _ hash: UInt64) -> Int? {
    let tag = DomainHash.tag(of: hash)
    var slot = Int(truncatingIfNeeded: hash) & mask
    while tags[slot] != 0 {
      if tags[slot] == tag {
        let place = Int(places[slot])
        if isEqual(name, from: start, toNameAt: place) { return place }
      }
      slot = (slot + 1) & mask
    }
    return nil
  }

  private func isEqual(_ name: Span<UInt8>, from start: Int, toNameAt place: Int) -> Bool {
    let length = name.count - start
    guard Int(names[place]) == length else { return false }
    for i in 0..<length where names[place + 1 + i] != name[start + i] { return false }
    return true
  }
}

/// FNV-1a over a name's bytes from the last to the first, with its bits mixed at the end (the finaliser of MurmurHash3).
private struct DomainHash {
  private var state = FNV1a()

  mutating func add(_ byte: UInt8) { state.add(byte) }

  var value: UInt64 {
    var z = state.value
    z = (z ^ (z >> 33)) &* 0xff51_afd7_ed55_8ccd
    z = (z ^ (z >> 33)) &* 0xc4ce_b9fe_1a85_ec53
    return z ^ (z >> 33)
  }

  /// The tag, from 1 to 255, of hash bits that select no slot.
  static func tag(of hash: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: hash >> 56) | 1 }
}
