internal import KeyMemory

/// This interface's static key pair.
struct Identity: Sendable {
  let secret: SecretBytes
  let publicKey: PublicKey

  init(_ secret: SecretBytes) {
    self.secret = secret
    publicKey = Curve25519.publicKey(of: secret)
  }
}

/// The values that two parties share before any handshake.
struct PeerIdentity: Sendable {
  let publicKey: PublicKey
  /// X25519 of both static keys, computed once; `nil` if the peer's point has low order, so that no handshake can succeed.
  let sharedSecret: SecretBytes?
  /// All zeros mean no key.
  var presharedKey: SecretBytes

  init(_ publicKey: PublicKey, presharedKey: SecretBytes, ours: Identity?) {
    self.publicKey = publicKey
    self.presharedKey = presharedKey
    sharedSecret = ours.flatMap { Curve25519.sharedSecret($0.secret, publicKey) }
  }

  init(_ other: PeerIdentity, ours: Identity?) { self.init(other.publicKey, presharedKey: other.presharedKey, ours: ours) }
}

/// The keys of a session, from the point of view of this side.
struct TransportKeys {
  let sending: SecretBytes
  let receiving: SecretBytes
}
