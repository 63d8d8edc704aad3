/// The responder's side of the handshake. An initiation is read in two steps, because the sender is known only after the first.
final class ReceivedInitiation {
  let remoteIndex: UInt32
  let initiator: PublicKey
  private let state: SymmetricState
  private let ephemeral: PublicKey

  /// Decrypts the sender's public key, with one X25519. `nil` if the message was not made for our key.
  init?(_ message: UnsafeRawBufferPointer, ours: Identity) {
    remoteIndex = message.word(at: InitiationLayout.sender)
    ephemeral = PublicKey(message.address(InitiationLayout.ephemeral))
    let state = SymmetricState(responder: ours.publicKey)
    self.state = state
    state.mix(ephemeral: ephemeral)
    guard let agreed = Curve25519.sharedSecret(ours.secret, ephemeral) else { return nil }
    let key = state.key(mixing: agreed)
    var sender = PublicKey()
    let isOpen = sender.withUnsafeMutableBytes {
      state.open(message.part(InitiationLayout.staticKey, 48), key: key, into: $0.address(0))
    }
    guard isOpen else { return nil }
    initiator = sender
  }

  /// Decrypts the timestamp, which only the peer itself can have written. `nil` if it is forged.
  func timestamp(_ message: UnsafeRawBufferPointer, peer: PeerIdentity) -> Timestamp? {
    guard let sharedSecret = peer.sharedSecret else { return nil }
    let key = state.key(mixing: sharedSecret)
    return withUnsafeTemporaryAllocation(byteCount: Timestamp.length, alignment: 4) { place in
      state.open(message.part(InitiationLayout.timestamp, 28), key: key, into: place.address(0))
        ? Timestamp(reading: place.address(0)) : nil
    }
  }

  /// Writes the response without its MACs, and returns the session's keys. Call it once, after `timestamp`.
  func respond(
    to peer: PeerIdentity, localIndex: UInt32, entropy: Entropy, into response: UnsafeMutableRawBufferPointer
  ) -> TransportKeys? {
    response.setWord(MessageType.response, at: 0)
    response.setWord(localIndex, at: ResponseLayout.sender)
    response.setWord(remoteIndex, at: ResponseLayout.receiver)
    let secret = entropy.ephemeral()
    let point = Curve25519.publicKey(of: secret)
    point.withUnsafeBytes { response.address(ResponseLayout.ephemeral).copyMemory(from: $0.address(0), byteCount: 32) }
    state.mix(ephemeral: point)
    guard let first = Curve25519.sharedSecret(secret, ephemeral) else { return nil }
    state.mix(first)
    guard let second = Curve25519.sharedSecret(secret, peer.publicKey) else { return nil }
    state.mix(second)
    let key = state.key(mixingPreshared: peer.presharedKey)
    state.seal(UnsafeRawBufferPointer(start: nil, count: 0), key: key, into: response.address(ResponseLayout.empty))
    let (receiving, sending) = state.split()
    return TransportKeys(sending: sending, receiving: receiving)
  }
}
