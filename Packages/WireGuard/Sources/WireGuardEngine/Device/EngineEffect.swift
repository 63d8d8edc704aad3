/// What the data path has to do for the engine, in order. Effects come from the control side alone, never from a packet's path.
package enum EngineEffect: Hashable, Sendable {
  /// Send this datagram, a handshake message or a keepalive, as it is.
  case transmit([UInt8], to: DatagramAddress, peer: PeerIndex?)
  /// The peer has a session: send what is staged for it. Where nothing is left of that, `Engine.keepalive`.
  case flush(PeerIndex)
  /// The peer does not answer: drop what is staged for it.
  case dropStaged(PeerIndex)
  /// The peer is gone: drop what is staged for it; its place may be used again.
  case removed(PeerIndex)
}
