/// An action that the data path performs for the engine, in order. Only control creates effects; no packet does.
package enum EngineEffect: Hashable, Sendable {
  /// Send this datagram unchanged; it is a handshake message or a keepalive.
  case transmit([UInt8], to: DatagramAddress, peer: PeerIndex?)
  /// The peer has a session: send its staged packets. If none are left, call `Engine.keepalive`.
  case flush(PeerIndex)
  /// The peer does not respond: drop its staged packets.
  case dropStaged(PeerIndex)
  /// The peer was removed: drop its staged packets. Its index may be reused.
  case removed(PeerIndex)
}
