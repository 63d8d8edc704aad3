/// The three messages of a handshake, identified by type and length alone.
enum HandshakeKind {
  case initiation
  case response
  case cookieReply

  init?(_ message: UnsafeRawBufferPointer) {
    guard message.count >= 4 else { return nil }
    switch (message.word(at: 0), message.count) {
    case (MessageType.initiation, InitiationLayout.length): self = .initiation
    case (MessageType.response, ResponseLayout.length): self = .response
    case (MessageType.cookieReply, CookieReplyLayout.length): self = .cookieReply
    default: return nil
    }
  }
}
