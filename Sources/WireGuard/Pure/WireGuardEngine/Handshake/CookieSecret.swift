internal import KeyMemory
internal import NetworkTypes

/// The secret with which this interface creates cookies; it changes every two minutes.
struct CookieSecret {
  private var secret = SecretBytes()
  private var createdAt: UInt64?

  /// The cookie of an address *and port*: without the port, all hosts behind one NAT would share it.
  mutating func cookie(for source: DatagramAddress, at now: UInt64, entropy: Entropy) -> Cookie {
    if createdAt.map({ elapsed(since: $0, at: now) >= ProtocolConstants.cookieLifetime }) ?? true {
      secret = SecretBytes()
      entropy.fill(UnsafeMutableRawBufferPointer(start: secret.pointer, count: 32))
      createdAt = now
    }
    var mac = MAC()
    let place = (source.address.high, source.address.low, UInt32(source.port), source.scope)
    withUnsafeBytes(of: place) { place in
      withUnsafeMutableBytes(of: &mac) { BLAKE2s.mac(key: secret.buffer, place, into: $0.address(0)) }
    }
    return Cookie(mac)
  }

  /// True if the second MAC was made with the cookie of the message's source.
  mutating func isSecondRight(_ message: UnsafeRawBufferPointer, from source: DatagramAddress, at now: UInt64, entropy: Entropy) -> Bool {
    let mac = MAC(message.address(message.count - 16))
    if createdAt == nil || mac == MAC() { return false }
    return cookie(for: source, at: now, entropy: entropy).mac(message.part(0, message.count - 16)) == mac
  }

  /// The cookie reply to a message whose sender has to prove its address; `macs` are those of our key.
  mutating func reply(
    to message: UnsafeRawBufferPointer, from source: DatagramAddress, macs: MessageMACs, at now: UInt64, entropy: Entropy
  ) -> [UInt8] {
    let cookie = cookie(for: source, at: now, entropy: entropy)
    var reply = [UInt8](repeating: 0, count: CookieReplyLayout.length)
    reply.withUnsafeMutableBytes { reply in
      reply.setWord(MessageType.cookieReply, at: 0)
      // The sender's index has the same position in both types.
      reply.setWord(message.word(at: InitiationLayout.sender), at: CookieReplyLayout.receiver)
      entropy.fill(UnsafeMutableRawBufferPointer(rebasing: reply[CookieReplyLayout.nonce..<CookieReplyLayout.cookie]))
      macs.cookieKey.withUnsafeBytes { key in
        withUnsafeBytes(of: cookie.value) {
          MessageCipher.sealCookie(
            $0.address(0), key: key.address(0), nonce: reply.address(CookieReplyLayout.nonce),
            authenticating: message.part(message.count - 32, 16), into: reply.address(CookieReplyLayout.cookie))
        }
      }
    }
    return reply
  }
}

/// The cookie that a peer sent us.
struct CookieState {
  private var cookie: Cookie?
  private var received: UInt64 = 0
  /// The first MAC of the last message to the peer, until a cookie for it arrives: a reply must answer that message.
  private var asked: MAC?

  /// Writes the MACs of a message to the peer.
  mutating func sign(_ message: UnsafeMutableRawBufferPointer, macs: MessageMACs, at now: UInt64) {
    let life = ProtocolConstants.cookieLifetime - ProtocolConstants.cookieLatency
    if elapsed(since: received, at: now) >= life { cookie = nil }
    asked = macs.sign(message, cookie: cookie)
  }

  /// Takes a cookie reply; false if it is not the peer's answer to our last message.
  mutating func take(_ reply: UnsafeRawBufferPointer, macs: MessageMACs, at now: UInt64) -> Bool {
    guard let asked else { return false }
    var value = MAC()
    let isOpen = withUnsafeMutableBytes(of: &value) { value in
      macs.cookieKey.withUnsafeBytes { key in
        withUnsafeBytes(of: asked) {
          MessageCipher.openCookie(
            reply.address(CookieReplyLayout.cookie), key: key.address(0), nonce: reply.address(CookieReplyLayout.nonce),
            authenticating: $0, into: value.address(0))
        }
      }
    }
    guard isOpen else { return false }
    cookie = Cookie(value)
    received = now
    self.asked = nil
    return true
  }
}
