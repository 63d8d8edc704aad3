package import NetworkTypes

/// Dead peer detection for one WireGuard peer: a pure value that takes samples of the engine's counters.
///
/// WireGuard answers every packet that requires an answer. A data packet is answered by data, or by an empty keepalive after
/// `KEEPALIVE_TIMEOUT`; a handshake initiation by a response at once. Without an answer it begins a handshake after `KEEPALIVE_TIMEOUT` +
/// `REKEY_TIMEOUT`, and again every `REKEY_TIMEOUT`, for `REKEY_ATTEMPT_TIME`. So a peer is silent when a packet that requires an answer
/// was sent and nothing was received since. The verdict comes at the latest `patience` after the first such packet. Keepalives require no
/// answer. Without traffic there is no verdict.
///
/// A peer that begins handshakes, again and again, has not received our responses: else it would confirm the first one at once. That is a
/// verdict of its own, because such a peer may send data too, which looks like an answer.
package struct DeadPeerDetector: Equatable, Sendable {
  /// The WireGuard constants that the detector relies on (section 6.1 of the paper, `messages.h` of the kernel's).
  package enum WireGuardTiming {
    package static let keepaliveTimeout = Duration.seconds(10)
    package static let rekeyTimeout = Duration.seconds(5)
    package static let rekeyAttemptTime = Duration.seconds(90)
    package static let rejectAfterTime = Duration.seconds(180)
    /// Bytes on the wire, as the counters have them.
    package static let initiationBytes: UInt64 = 148
    package static let responseBytes: UInt64 = 92
    package static let keepaliveBytes: UInt64 = 32
  }

  /// The engine's counters of a peer at one moment.
  package struct Sample: Equatable, Sendable {
    package var at: Moment
    /// Seconds since 1970; 0: never. Only a change counts: the wall clock may be set.
    package var lastHandshake: Int64
    package var received: UInt64
    package var sent: UInt64
    /// Seconds; 0: off.
    package var persistentKeepalive: UInt16
    /// Whether it is known that no packet has passed the link since the last sample: then no bytes are data.
    package var isWithoutData: Bool

    package init(
      at: Moment, lastHandshake: Int64, received: UInt64, sent: UInt64, persistentKeepalive: UInt16 = 0, isWithoutData: Bool = false
    ) {
      self.at = at
      self.lastHandshake = lastHandshake
      self.received = received
      self.sent = sent
      self.persistentKeepalive = persistentKeepalive
      self.isWithoutData = isWithoutData
    }
  }

  /// The time from the first unanswered packet to the verdict. It leaves time for WireGuard's own first handshake (15.3 s after the
  /// packet).
  package static let patience = Duration.seconds(24)
  /// The sampling interval while a session may be alive. Two samples, `KEEPALIVE_TIMEOUT` and a round trip fit into `patience`.
  package static let interval = Duration.seconds(6)
  /// The sampling interval when no session can be alive (`REJECT_AFTER_TIME`). The first packet then makes a handshake initiation, which is
  /// answered at once. The same while the next packet into the link ends the interval.
  package static let idleInterval = Duration.seconds(20)
  /// The longest gap between two samples. After a longer one the machine or the agent has been suspended, and earlier samples prove
  /// nothing.
  package static let longestGap = Duration.seconds(30)
  /// The time from a sample that shows an unanswered data packet until a healthy peer has answered it.
  private static let dataAnswer = WireGuardTiming.keepaliveTimeout + .seconds(2)
  /// The same for a handshake initiation: the longest round trip.
  private static let handshakeAnswer = Duration.seconds(3)

  /// The size of a full packet at the usual MTU.
  private static let fullPacket: UInt64 = 1452

  private enum Asked {
    /// No more than keepalives.
    case nothing
    /// A handshake initiation is among the packets.
    case handshake
    /// Data, and perhaps initiations that cannot be distinguished from it.
    case data
  }

  /// An unanswered packet or group of packets.
  private struct Doubt: Equatable {
    /// The earliest moment at which its first packet may have been sent.
    var since: Moment
    /// When a healthy peer has answered.
    var answerDue: Moment

    var at: Moment { max(since + DeadPeerDetector.patience, answerDue) }
  }

  /// An interval with packets in both directions: the last of them may be unanswered.
  private struct Mixed: Equatable {
    var since: Moment
    /// When WireGuard itself has begun a handshake because of it.
    var until: Moment
  }

  /// Initiations of the peer that it has not confirmed.
  private struct Unconfirmed: Equatable {
    var count: UInt64
    /// When the last of the first two was seen.
    var at: Moment
  }

  private var last: Sample?
  private var doubt: Doubt?
  private var unconfirmed: Unconfirmed?
  private var mixed: Mixed?
  /// When the last new handshake was seen.
  private var handshakeAt: Moment?
  /// When something was last received.
  package private(set) var heardAt: Moment?
  /// The sample since which nothing was sent that requires an answer; `nil`: something may be unanswered.
  private var quietSince: Moment?
  /// Whether the peer has not answered in time.
  package private(set) var isSilent = false

  package init() {}

  /// The next moment at which a sample is wanted; `nil` before the first.
  package var nextSample: Moment? {
    guard let last else { return nil }
    guard let doubt, !isSilent else { return last.at + (isSessionAlive ? Self.interval : Self.idleInterval) }
    return min(doubt.at, last.at + (unconfirmed == nil ? Self.interval : Self.handshakeAnswer))
  }

  /// The next moment while the next packet into the link will be noticed, and ends the interval; `nil`: that is not enough, as a packet may
  /// be unanswered already.
  package var nextQuietSample: Moment? {
    guard let last, let quietSince, quietSince + Self.interval * 2 <= last.at else { return nil }
    return last.at + Self.idleInterval
  }

  /// The time of the first unanswered packet; `nil`: nothing is unanswered.
  package var unansweredSince: Moment? { doubt?.since }

  private var isSessionAlive: Bool {
    guard let last, let handshakeAt else { return false }
    return last.at < handshakeAt + WireGuardTiming.rejectAfterTime
  }

  package mutating func take(_ sample: Sample) {
    defer { last = sample }
    guard let before = last, sample.at <= before.at + Self.longestGap, sample.received >= before.received, sample.sent >= before.sent else {
      self = Self()
      if sample.lastHandshake != 0 { handshakeAt = sample.at }
      return
    }
    let isNewHandshake = sample.lastHandshake != before.lastHandshake
    if isNewHandshake { handshakeAt = sample.at }
    let received = sample.received - before.received
    let initiations = Self.initiations(in: received, most: sample.isWithoutData ? 6 : 3)
    let isHeard = isNewHandshake || received > 0 && initiations == 0
    // Without data, a new handshake leaves nothing unanswered.
    let asked =
      isNewHandshake && sample.isWithoutData
      ? .nothing : Self.asked(sample.sent - before.sent, in: sample.at - before.at, keepalive: sample.persistentKeepalive)
    if isHeard {
      heardAt = sample.at
      doubt = nil
      unconfirmed = nil
      isSilent = false
      let until = sample.at + WireGuardTiming.keepaliveTimeout + WireGuardTiming.rekeyTimeout + Self.interval
      mixed = asked == .nothing ? nil : Mixed(since: before.at, until: until)
    } else if asked != .nothing {
      let due = sample.at + (asked == .handshake ? Self.handshakeAnswer : Self.dataAnswer)
      let since = mixed.flatMap { sample.at <= $0.until ? $0.since : nil } ?? before.at
      doubt = doubt.map { Doubt(since: $0.since, answerDue: min($0.answerDue, due)) } ?? Doubt(since: since, answerDue: due)
    }
    let isAnswered = doubt == nil && mixed.map { $0.until < sample.at } ?? true
    quietSince = asked == .nothing && isAnswered ? quietSince ?? before.at : nil
    if initiations > 0, !isNewHandshake { count(initiations, at: sample.at) }
    let isDeaf = unconfirmed.map { $0.count >= 2 && $0.at + Self.handshakeAnswer <= sample.at } ?? false
    if isDeaf || doubt.map({ $0.at <= sample.at }) ?? false { isSilent = true }
  }

  private mutating func count(_ initiations: UInt64, at now: Moment) {
    let earlier = unconfirmed?.count ?? 0
    unconfirmed = Unconfirmed(count: earlier + initiations, at: earlier >= 2 ? unconfirmed?.at ?? now : now)
  }

  /// The number of initiations, if the bytes are no more than some: they mean that the peer receives no more than we do. `most`: more of
  /// them may be data.
  private static func initiations(in bytes: UInt64, most: UInt64) -> UInt64 {
    (1...most).first { bytes == $0 * WireGuardTiming.initiationBytes } ?? 0
  }

  /// Classifies sent bytes, as far as their number tells. Data packets are padded to 16 bytes, unless they fill the link's MTU (1420 bytes
  /// as a rule). An initiation is 4 bytes longer than such a number. No IP packet is as small as a keepalive.
  private static func asked(_ bytes: UInt64, in time: Duration, keepalive: UInt16) -> Asked {
    let passive = time < WireGuardTiming.keepaliveTimeout ? 1 : 1 + UInt64(time / WireGuardTiming.keepaliveTimeout)
    let persistent = keepalive == 0 ? 0 : 1 + UInt64(time / .seconds(Int64(keepalive)))
    let isKeepalives = { (bytes: UInt64) in
      bytes % WireGuardTiming.keepaliveBytes == 0 && bytes / WireGuardTiming.keepaliveBytes <= passive + persistent
    }
    if isKeepalives(bytes) { return .nothing }
    if bytes < 2 * Self.fullPacket, [4, 8].contains(bytes % 16) { return .handshake }
    let attempts = 2 + UInt64(time / WireGuardTiming.rekeyTimeout)
    let isHandshakes = (1...attempts).contains {
      bytes >= $0 * WireGuardTiming.initiationBytes && isKeepalives(bytes - $0 * WireGuardTiming.initiationBytes)
    }
    return isHandshakes ? .handshake : .data
  }
}
