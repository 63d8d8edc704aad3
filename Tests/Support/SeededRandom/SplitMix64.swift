/// A small generator of random numbers: the same for a seed on every machine.
///
/// Source: S. Vigna, splitmix64; Steele, Lea and Flood, 2014.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  /// From 0 to 1, without 1.
  package mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }

  package mutating func chance(_ probability: Double) -> Bool { unit() < probability }

  package mutating func pick<Value>(_ values: [Value]) -> Value { values[Int(next() % UInt64(values.count))] }
}
