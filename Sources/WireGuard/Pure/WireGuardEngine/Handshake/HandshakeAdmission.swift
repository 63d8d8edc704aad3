internal import KeyMemory
internal import NetworkTypes

/// Handshake messages and what there is for them.
package struct HandshakeLoad: Equatable, Sendable {
  /// They are so many that their senders have to prove their address.
  package var isHigh: Bool
  /// So many may wait for their turn: one of each peer, or, while the load is high, those of a moment.
  package var room: Int
}

/// Decides which handshake messages are worth their four X25519 operations, at rates of up to ten thousand a second.
///
/// Each source has a share: 20 a second, 5 at once, as in the kernel. Messages within their source's share count towards the load. When the
/// capacity is used up, every sender has to prove its address by a cookie. That ends after a second in which no more messages came than the
/// capacity. Messages beyond their source's share use idle time only and never count towards the load: a single address can force cookies
/// only on itself. Messages with a proof have a separate share, which senders of forged addresses cannot use up.
///
/// A message that turns out to be a peer's is given back: no one else can make it, and a peer that had to prove its address would come
/// again only after five seconds. So all peers of a gateway can connect at once, also behind one address.
struct HandshakeAdmission {
  enum Verdict {
    case accept
    /// From the capacity that all senders share; `giveBack` it if the message is a peer's.
    case acceptFromShared
    /// Send a cookie.
    case prove
    case drop

    var isAcceptance: Bool { self == .accept || self == .acceptFromShared }
  }

  /// The number of messages per second that are answered without a cookie: 256 take about 4 % of a processor.
  static let capacity: UInt64 = 256
  static let sourceRate: UInt64 = 20
  static let sourceBurst: UInt64 = 5

  private var device = TokenBucket(rate: capacity, burst: capacity)
  private var loadedUntil: UInt64 = 0
  private var sources = SourceTable()

  /// True while all senders have to prove their address.
  func isUnderLoad(at now: UInt64) -> Bool { now < loadedUntil }

  func load(at now: UInt64, peers: Int) -> HandshakeLoad {
    let isHigh = isUnderLoad(at: now)
    return HandshakeLoad(isHigh: isHigh, room: Int(Self.capacity) + (isHigh ? 0 : peers))
  }

  mutating func judge(_ source: IPAddress, hasProof: Bool, at now: UInt64, entropy: Entropy) -> Verdict {
    if hasProof {
      if sources.take(source, proven: true, at: now, entropy: entropy) { return .accept }
      return !isUnderLoad(at: now) && device.take(at: now, leaving: Self.capacity / 2) ? .acceptFromShared : .drop
    }
    if isUnderLoad(at: now) {
      // While more messages arrive than the capacity, the load continues. Otherwise a sender of forged addresses would get the capacity of
      // each new second.
      if sources.take(source, proven: false, at: now, entropy: entropy), !device.take(at: now, leaving: 0) {
        loadedUntil = now + ProtocolConstants.second
      }
      return .prove
    }
    guard sources.take(source, proven: false, at: now, entropy: entropy) else {
      return device.take(at: now, leaving: Self.capacity / 2) ? .acceptFromShared : .prove
    }
    if device.take(at: now, leaving: 0) { return .acceptFromShared }
    loadedUntil = now + ProtocolConstants.second
    return .prove
  }

  /// The message of this verdict is a peer's.
  mutating func giveBack(_ verdict: Verdict) {
    if verdict == .acceptFromShared { device.giveBack() }
  }
}

/// A token bucket: a burst, and a rate per second.
struct TokenBucket {
  /// Nanoseconds for each token.
  private let cost: UInt64
  private let full: UInt64
  /// The level, in nanoseconds of refilling.
  private var level: UInt64
  private var updated: UInt64 = 0

  init(rate: UInt64, burst: UInt64) {
    cost = ProtocolConstants.second / rate
    full = burst * cost
    level = full
  }

  mutating func take(at now: UInt64, leaving reserve: UInt64) -> Bool {
    level = min(full, level + min(full, elapsed(since: updated, at: now)))
    updated = max(updated, now)
    guard level >= (reserve + 1) * cost else { return false }
    level -= cost
    return true
  }

  /// Returns a token that was taken.
  mutating func giveBack() { level = min(full, level + cost) }
}

/// Token buckets of the most recent sources: 256 sets of four, found by a keyed hash, with replacement of the least recently used. A source
/// is an IPv4 address or an IPv6 /64. The size is bounded, whatever the senders do: 112 kB. A set is allocated for its first source: all at
/// once would take longer than an X25519, before the first answer.
private struct SourceTable {
  private static let sets = 256
  private static let ways = 4

  private struct Entry {
    var high: UInt64 = 0
    var low: UInt64 = 0
    var used: UInt64 = 0
    var unproven = TokenBucket(rate: HandshakeAdmission.sourceRate, burst: HandshakeAdmission.sourceBurst)
    var proven = TokenBucket(rate: HandshakeAdmission.sourceRate, burst: HandshakeAdmission.sourceBurst)
  }

  private var sets: [[Entry]] = []
  private var key = SecretBytes()

  mutating func take(_ source: IPAddress, proven: Bool, at now: UInt64, entropy: Entropy) -> Bool {
    if sets.isEmpty {
      sets = Array(repeating: [], count: Self.sets)
      key = entropy.ephemeral()
    }
    // The family distinguishes ::/64 from an IPv4 address.
    let high = source.family == .v4 ? UInt64(4) : source.high
    let low = source.family == .v4 ? source.low : 1 << 63
    var digest = MAC()
    withUnsafeBytes(of: (high, low)) { place in
      withUnsafeMutableBytes(of: &digest) { BLAKE2s.mac(key: key.buffer, place, into: $0.address(0)) }
    }
    return Self.take(from: &sets[withUnsafeBytes(of: digest) { Int($0[0]) }], high, low, proven: proven, at: now)
  }

  private static func take(from entries: inout [Entry], _ high: UInt64, _ low: UInt64, proven: Bool, at now: UInt64) -> Bool {
    if entries.isEmpty { entries = Array(repeating: Entry(), count: ways) }
    var chosen = 0
    for place in 0..<ways {
      if entries[place].high == high, entries[place].low == low {
        chosen = place
        break
      }
      if entries[place].used < entries[chosen].used { chosen = place }
    }
    if entries[chosen].high != high || entries[chosen].low != low {
      entries[chosen] = Entry()
      entries[chosen].high = high
      entries[chosen].low = low
    }
    entries[chosen].used = now
    return proven ? entries[chosen].proven.take(at: now, leaving: 0) : entries[chosen].unproven.take(at: now, leaving: 0)
  }
}
