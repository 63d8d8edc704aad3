internal import KeyMemory

/// The initiator's side of the handshake, from the first message to the response (sections 5.4.2 and 5.4.3 of the paper).
final class Initiation {
  let localIndex: UInt32
  private let state: SymmetricState
  private let ephemeral: SecretBytes

  /// Writes the message without its MACs. `nil` if the peer's key is not usable.
  init?(
    to peer: PeerIdentity, from ours: Identity, localIndex: UInt32, timestamp: Timestamp, entropy: Entropy,
    into message: UnsafeMutableRawBufferPointer
  ) {
    guard let sharedSecret = peer.sharedSecret else { return nil }
    self.localIndex = localIndex
    state = SymmetricState(responder: peer.publicKey)
    ephemeral = entropy.ephemeral()
    message.setWord(MessageType.initiation, at: 0)
    message.setWord(localIndex, at: InitiationLayout.sender)
    let point = Curve25519.publicKey(of: ephemeral)
    point.withUnsafeBytes { message.address(InitiationLayout.ephemeral).copyMemory(from: $0.address(0), byteCount: 32) }
    state.mix(ephemeral: point)
    guard let agreed = Curve25519.sharedSecret(ephemeral, peer.publicKey) else { return nil }
    let staticKey = state.key(mixing: agreed)
    ours.publicKey.withUnsafeBytes { state.seal($0, key: staticKey, into: message.address(InitiationLayout.staticKey)) }
    let timestampKey = state.key(mixing: sharedSecret)
    withUnsafeTemporaryAllocation(byteCount: Timestamp.length, alignment: 4) {
      timestamp.store(to: $0.address(0))
      state.seal($0.readable, key: timestampKey, into: message.address(InitiationLayout.timestamp))
    }
  }

  /// The session's keys and the responder's index, from an authentic response. A response that is not authentic changes nothing.
  func keys(
    from response: UnsafeRawBufferPointer, peer: PeerIdentity, ours: Identity
  ) -> (keys: TransportKeys, remoteIndex: UInt32)? {
    let state = state.copy()
    let point = PublicKey(response.address(ResponseLayout.ephemeral))
    state.mix(ephemeral: point)
    guard let first = Curve25519.sharedSecret(ephemeral, point) else { return nil }
    state.mix(first)
    guard let second = Curve25519.sharedSecret(ours.secret, point) else { return nil }
    state.mix(second)
    let key = state.key(mixingPreshared: peer.presharedKey)
    var nothing: UInt8 = 0
    guard state.open(response.part(ResponseLayout.empty, 16), key: key, into: &nothing) else { return nil }
    let (sending, receiving) = state.split()
    return (TransportKeys(sending: sending, receiving: receiving), response.word(at: ResponseLayout.sender))
  }
}
