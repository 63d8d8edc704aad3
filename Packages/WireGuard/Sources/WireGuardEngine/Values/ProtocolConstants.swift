/// The numbers of the protocol, from section 6 of the WireGuard paper and the kernel's messages.h. Times are nanoseconds.
package enum ProtocolConstants {
  static let second: UInt64 = 1_000_000_000

  package static let rekeyAfterMessages: UInt64 = 1 << 60
  package static let rejectAfterMessages: UInt64 = .max - (1 << 13)
  package static let rekeyAfterTime = 120 * second
  package static let rejectAfterTime = 180 * second
  package static let rekeyAttemptTime = 90 * second
  package static let rekeyTimeout = 5 * second
  package static let keepaliveTimeout = 10 * second
  /// Added at random to the retransmission of an initiation, so that two peers that start together do not stay in step.
  package static let maximumJitter = second / 3

  /// Initiations are sent again this often; then the peer is given up until there is something new to send.
  static let maximumAttempts = rekeyAttemptTime / rekeyTimeout
  /// An initiator whose session is this old begins a new one when data comes in, so that it never ends under a one-way flow.
  static let rekeyOnReceiveAfter = rejectAfterTime - keepaliveTimeout - rekeyTimeout
  static let unansweredTimeout = keepaliveTimeout + rekeyTimeout
  static let forgetKeysAfter = 3 * rejectAfterTime

  static let cookieLifetime = 120 * second
  /// A cookie is used this much shorter than it lives, for the way of the message that carries it.
  static let cookieLatency = 5 * second
  /// A peer's initiations closer together than this are dropped: 50 a second.
  static let initiationInterval = second / 50
  /// So far apart ours are sent even where a peer is taken away and added again: the way of one may be longer than that of the other.
  static let initiationDistance = 2 * initiationInterval

  package static let transportHeader = 16
  package static let tag = 16
  /// Header and tag: what a transport message is longer than the padded packet in it.
  package static let transportOverhead = 32
  package static let initiationLength = 148
  package static let responseLength = 92
  package static let cookieReplyLength = 64
  package static let paddingMultiple = 16

  /// How many packets the data path keeps for a peer without a session; of more, it drops the oldest.
  package static let maximumStaged = 128
}
