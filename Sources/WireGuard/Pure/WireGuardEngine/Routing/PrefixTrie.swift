internal import NetworkTypes

/// Longest-prefix match of one family: a binary trie without nodes of one child, in one allocation. An address is 128 bits, with IPv4 in
/// the uppermost. Both sections read it; control changes it while it holds both. Its owner frees it.
struct PrefixTrie {
  static let none: Int32 = -1

  private struct Node {
    var high: UInt64
    var low: UInt64
    var maskHigh: UInt64
    var maskLow: UInt64
    /// The prefix's length, which is also the bit that selects a child.
    var length: Int32
    var value: Int32
    var children: (Int32, Int32) = (none, none)

    @inline(__always)
    func holds(_ high: UInt64, _ low: UInt64) -> Bool { (high ^ self.high) & maskHigh | (low ^ self.low) & maskLow == 0 }

    @inline(__always)
    func child(_ bit: Bool) -> Int32 { bit ? children.1 : children.0 }

    mutating func setChild(_ bit: Bool, _ node: Int32) { if bit { children.1 = node } else { children.0 = node } }
  }

  private var nodes: UnsafeMutablePointer<Node>
  private var capacity: Int32 = 8
  private var used: Int32 = 0
  /// A free list of nodes, linked by their first child.
  private var free: Int32 = none
  private var root: Int32 = none

  init() { nodes = .allocate(capacity: Int(capacity)) }

  func deallocate() { nodes.deallocate() }

  /// The value of the longest prefix that contains the address; `none` if no prefix does.
  @inline(__always)
  func lookUp(_ high: UInt64, _ low: UInt64) -> Int32 {
    var best = Self.none
    var place = root
    while place >= 0 {
      let node = nodes + Int(place)
      guard node.pointee.holds(high, low) else { break }
      if node.pointee.value >= 0 { best = node.pointee.value }
      let length = node.pointee.length
      if length == 128 { break }
      place = node.pointee.child(Self.bit(high, low, length))
    }
    return best
  }

  /// Sets the value of exactly this prefix.
  mutating func insert(_ prefix: IPPrefix, _ value: Int32) {
    let (high, low) = Self.key(prefix.address)
    let length = Int32(prefix.length)
    var parent = Self.none
    var side = false
    var place = root
    while place >= 0 {
      let node = nodes[Int(place)]
      let common = min(Self.commonLength(high, low, node.high, node.low), length, node.length)
      if common == node.length {
        if node.length == length {
          nodes[Int(place)].value = value
          return
        }
        parent = place
        side = Self.bit(high, low, node.length)
        place = node.child(side)
        continue
      }
      let leaf = make(high, low, length, value)
      if common == length {
        nodes[Int(leaf)].setChild(Self.bit(node.high, node.low, length), place)
        link(parent, side, leaf)
      } else {
        let fork = make(high, low, common, Self.none)
        nodes[Int(fork)].setChild(Self.bit(high, low, common), leaf)
        nodes[Int(fork)].setChild(Self.bit(node.high, node.low, common), place)
        link(parent, side, fork)
      }
      return
    }
    link(parent, side, make(high, low, length, value))
  }

  /// The value of exactly this prefix.
  func value(of prefix: IPPrefix) -> Int32 {
    let (high, low) = Self.key(prefix.address)
    var place = root
    while place >= 0 {
      let node = nodes[Int(place)]
      guard node.holds(high, low), node.length <= prefix.length else { return Self.none }
      if node.length == prefix.length { return node.value }
      place = node.child(Self.bit(high, low, node.length))
    }
    return Self.none
  }

  mutating func remove(_ prefix: IPPrefix) {
    let (high, low) = Self.key(prefix.address)
    var grandparent = (place: Self.none, side: false)
    var parent = (place: Self.none, side: false)
    var place = root
    while place >= 0 {
      let node = nodes[Int(place)]
      guard node.holds(high, low), node.length <= prefix.length else { return }
      if node.length == prefix.length { break }
      grandparent = parent
      parent = (place, Self.bit(high, low, node.length))
      place = node.child(parent.side)
    }
    guard place >= 0 else { return }
    nodes[Int(place)].value = Self.none
    let children = nodes[Int(place)].children
    guard children.0 < 0 || children.1 < 0 else { return }
    let only = children.0 >= 0 ? children.0 : children.1
    link(parent.place, parent.side, only)
    release(place)
    // Also remove a fork that is left with one child.
    guard only < 0, parent.place >= 0, nodes[Int(parent.place)].value < 0 else { return }
    link(grandparent.place, grandparent.side, nodes[Int(parent.place)].child(!parent.side))
    release(parent.place)
  }

  /// The number of nodes in use.
  var nodeCount: Int {
    var count = Int(used)
    var place = free
    while place >= 0 {
      count -= 1
      place = nodes[Int(place)].children.0
    }
    return count
  }

  private mutating func link(_ parent: Int32, _ side: Bool, _ node: Int32) {
    if parent < 0 { root = node } else { nodes[Int(parent)].setChild(side, node) }
  }

  private mutating func make(_ high: UInt64, _ low: UInt64, _ length: Int32, _ value: Int32) -> Int32 {
    let maskHigh = length <= 0 ? 0 : length >= 64 ? ~0 : ~(~UInt64(0) >> UInt64(length))
    let maskLow = length <= 64 ? 0 : length >= 128 ? ~0 : ~(~UInt64(0) >> UInt64(length - 64))
    let place: Int32
    if free >= 0 {
      place = free
      free = nodes[Int(place)].children.0
    } else {
      if used == capacity { grow() }
      place = used
      used += 1
    }
    (nodes + Int(place)).initialize(
      to: Node(high: high & maskHigh, low: low & maskLow, maskHigh: maskHigh, maskLow: maskLow, length: length, value: value))
    return place
  }

  private mutating func release(_ place: Int32) {
    nodes[Int(place)].children = (free, Self.none)
    free = place
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<Node>.allocate(capacity: 2 * Int(capacity))
    larger.moveInitialize(from: nodes, count: Int(used))
    nodes.deallocate()
    nodes = larger
    capacity *= 2
  }

  static func key(_ address: IPAddress) -> (UInt64, UInt64) { address.family == .v4 ? (address.low << 32, 0) : (address.high, address.low) }

  @inline(__always)
  private static func bit(_ high: UInt64, _ low: UInt64, _ position: Int32) -> Bool {
    let word = position < 64 ? high : low
    return word >> UInt64(63 - (position & 63)) & 1 == 1
  }

  private static func commonLength(_ high: UInt64, _ low: UInt64, _ otherHigh: UInt64, _ otherLow: UInt64) -> Int32 {
    let difference = high ^ otherHigh
    return Int32(difference == 0 ? 64 + (low ^ otherLow).leadingZeroBitCount : difference.leadingZeroBitCount)
  }
}
