/// The constants of the protocol, from section 6 of the WireGuard paper and the kernel's messages.h. Times are in nanoseconds.
package enum ProtocolConstants {
  static let second: UInt64 = 1_000_000_000

  package static let rekeyAfterMessages: UInt64 = 1 << 60
  package static let rejectAfterMessages: UInt64 = .max - (1 << 13)
  package static let rekeyAfterTime = 120 * second
  package static let rejectAfterTime = 180 * second
  package static let rekeyAttemptTime = 90 * second
  package static let rekeyTimeout = 5 * second
  package static let keepaliveTimeout = 10 * second
  /// The maximum random delay of a retransmitted initiation, so that two peers that start together do not stay in step.
  package static let maximumJitter = second / 3

  /// The maximum number of initiations. After that, no more are sent until there is a new packet to send.
  static let maximumAttempts = rekeyAttemptTime / rekeyTimeout
  /// The age at which an initiator starts a new session when data arrives, so that a one-way flow is never interrupted.
  static let rekeyOnReceiveAfter = rejectAfterTime - keepaliveTimeout - rekeyTimeout
  static let unansweredTimeout = keepaliveTimeout + rekeyTimeout
  static let forgetKeysAfter = 3 * rejectAfterTime

  static let cookieLifetime = 120 * second
  /// A cookie is used for this much less than its lifetime, to allow for the latency of the message that carries it.
  static let cookieLatency = 5 * second
  /// Two initiations of a peer within this time: the second is dropped. That is 50 a second.
  static let initiationInterval = second / 50
  /// The minimum distance of our initiations, even if a peer is removed and added again: their latencies may differ.
  static let initiationDistance = 2 * initiationInterval

  package static let transportHeader = 16
  package static let tag = 16
  /// Header and tag: the difference between a transport message and its padded packet.
  package static let transportOverhead = 32
  package static let initiationLength = 148
  package static let responseLength = 92
  package static let cookieReplyLength = 64
  package static let paddingMultiple = 16

  /// The maximum number of packets that the data path stages for a peer without a session; beyond it, the oldest is dropped.
  package static let maximumStaged = 128
}
