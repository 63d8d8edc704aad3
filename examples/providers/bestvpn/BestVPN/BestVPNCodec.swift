internal import CSodium
internal import JSON

/// The datagrams of BestVPN's first version: a code, a nonce, and JSON or an IP packet under ChaCha20-Poly1305 (RFC 8439).
///
/// **Insecure.** One key serves all clients and both directions, without key exchange, without protection from replay. The code is not
/// authenticated: a datagram can be replayed under another one. It is here to show that the provider protocol carries it.
public struct BestVPNCodec: Sendable {
  /// A message in a datagram.
  public enum Message: Hashable, Sendable {
    /// Code 1, from a client.
    case authenticate(login: String, password: String)
    /// Code 2, from a server.
    case authenticated(Bool)
    /// Code 3: an IP packet.
    case data([UInt8])
  }

  /// The reason why a datagram is no message.
  public enum Refusal: Error, Hashable, Sendable {
    /// Shorter than 29 bytes, or longer than a datagram can be: its bytes.
    case length(Int)
    /// A code other than 1, 2 and 3.
    case unknownCode(UInt8)
    /// It was not made with this key, or was changed.
    case notAuthentic
    /// Authentic, but not the JSON that its code says.
    case malformed
  }

  static let nonceLength = 12
  private static let tagLength = 16
  /// Bytes that a datagram has beside its content.
  public static let overhead = 1 + nonceLength + tagLength
  private static let longest = 65_507

  private let key: [UInt8]

  /// `nil` unless the key has 32 bytes.
  public init?(key: [UInt8]) {
    guard key.count == 32 else { return nil }
    self.key = key
  }

  /// A datagram with a random nonce.
  public func seal(_ message: Message) -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    return seal(message, nonce: (0..<Self.nonceLength).map { _ in UInt8.random(in: 0...255, using: &random) })
  }

  /// The same with the nonce of a test. Each nonce may be used once with a key.
  public func seal(_ message: Message, nonce: [UInt8]) -> [UInt8] {
    precondition(nonce.count == Self.nonceLength, "a nonce has 12 bytes")
    let (code, content): (UInt8, [UInt8]) =
      switch message {
      case .authenticate(let login, let password):
        (1, Array(JSON.object([.init(key: "login", value: .string(login)), .init(key: "password", value: .string(password))]).text().utf8))
      case .authenticated(let isOK): (2, Array(JSON.object([.init(key: "isOK", value: .bool(isOK))]).text().utf8))
      case .data(let packet): (3, packet)
      }
    var sealed = [UInt8](repeating: 0, count: content.count + Self.tagLength)
    var count: UInt64 = 0
    crypto_aead_chacha20poly1305_ietf_encrypt(&sealed, &count, content, UInt64(content.count), nil, 0, nil, nonce, key)
    return [code] + nonce + sealed
  }

  /// Reads a datagram. Any bytes give a message or an error.
  public func open(_ datagram: [UInt8]) throws(Refusal) -> Message {
    guard (Self.overhead...Self.longest).contains(datagram.count) else { throw .length(datagram.count) }
    guard (1...3).contains(datagram[0]) else { throw .unknownCode(datagram[0]) }
    let nonce = Array(datagram[1...Self.nonceLength])
    let sealed = Array(datagram[(1 + Self.nonceLength)...])
    var content = [UInt8](repeating: 0, count: sealed.count)
    var count: UInt64 = 0
    guard crypto_aead_chacha20poly1305_ietf_decrypt(&content, &count, nil, sealed, UInt64(sealed.count), nil, 0, nonce, key) == 0 else {
      throw .notAuthentic
    }
    content.removeLast(Self.tagLength)
    return try Self.message(datagram[0], content)
  }

  private static func message(_ code: UInt8, _ content: [UInt8]) throws(Refusal) -> Message {
    if code == 3 { return .data(content) }
    let json: JSON
    do throws(JSONError) { json = try JSON(parsing: content.prefix(4096)) } catch { throw .malformed }
    if code == 2 {
      guard let isOK = json["isOK"]?.bool else { throw .malformed }
      return .authenticated(isOK)
    }
    guard let login = json["login"]?.string, let password = json["password"]?.string else { throw .malformed }
    return .authenticate(login: login, password: password)
  }
}
