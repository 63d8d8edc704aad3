/// A set of many domains, to find out whether a name is one of them or lies below one, by whole labels.
///
/// The names are stored one after the other in one buffer. An open-addressing table has the start of each; one byte of its hash beside it
/// rejects almost every miss without access to the buffer. A look-up hashes the name once, from its end, and checks every label. Memory:
/// the names with one byte each for the length, and 5 bytes a slot; at most half of the slots are used. At most 4 GiB of names.
package struct DomainSet: Sendable {
  /// A length byte and the name, without dots at its ends, name after name.
  private var names: [UInt8] = []
  /// The start of a name in `names`; meaningful if the tag is not 0.
  private var places: [UInt32]
  /// 0: free. Otherwise a byte of the hash.
  private var tags: [UInt8]
  private let mask: Int
  package private(set) var count = 0

  /// Makes a set; names that occur twice count once.
  package init(_ domains: some Collection<DomainName>) {
    var size = 16
    while size < domains.count * 2 { size *= 2 }
    mask = size - 1
    places = Array(repeating: 0, count: size)
    tags = Array(repeating: 0, count: size)
    var bytes = 0
    for domain in domains { bytes += domain.text.utf8.count + 1 }
    names.reserveCapacity(bytes)
    for domain in domains { insert(domain) }
  }

  /// Whether the name is one of the domains or lies below one.
  package func contains(_ name: DomainName) -> Bool { contains(name.text.utf8.span) }

  /// Heap bytes.
  package var memory: Int { names.capacity + places.capacity * 4 + tags.capacity }

  private func contains(_ name: Span<UInt8>) -> Bool {
    var hash = DomainHash()
    var start = name.count
    while start > 0 {
      start -= 1
      let byte = name[start]
      if byte == UInt8(ascii: "."), isThere(name, from: start + 1, hash.value) { return true }
      hash.add(byte)
    }
    return isThere(name, from: 0, hash.value)
  }

  /// Whether the rest of the name, from a label's start, is one of the domains.
  private func isThere(_ name: Span<UInt8>, from start: Int, _ hash: UInt64) -> Bool {
    let tag = DomainHash.tag(of: hash)
    var slot = Int(truncatingIfNeeded: hash) & mask
    while tags[slot] != 0 {
      if tags[slot] == tag, isEqual(name, from: start, toNameAt: Int(places[slot])) { return true }
      slot = (slot + 1) & mask
    }
    return false
  }

  private func isEqual(_ name: Span<UInt8>, from start: Int, toNameAt place: Int) -> Bool {
    let length = name.count - start
    guard Int(names[place]) == length else { return false }
    for i in 0..<length where names[place + 1 + i] != name[start + i] { return false }
    return true
  }

  private mutating func insert(_ domain: DomainName) {
    let name = domain.text.utf8.span
    var hash = DomainHash()
    var i = name.count
    while i > 0 {
      i -= 1
      hash.add(name[i])
    }
    let value = hash.value
    guard !isThere(name, from: 0, value), let place = UInt32(exactly: names.count), let length = UInt8(exactly: name.count) else { return }
    names.append(length)
    for i in 0..<name.count { names.append(name[i]) }
    var slot = Int(truncatingIfNeeded: value) & mask
    while tags[slot] != 0 { slot = (slot + 1) & mask }
    places[slot] = place
    tags[slot] = DomainHash.tag(of: value)
    count += 1
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
