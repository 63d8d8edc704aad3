internal import CTLS
internal import NetworkTypes

/// TLS 1.3 (RFC 8446) of a client by OpenSSL, between memory buffers: bytes in, bytes out. The server is known by its pin alone.
final class TLSClient {
  enum Failure: Error, Equatable {
    /// The server has another key; its pin.
    case otherKey(String)
    /// The other side does not follow TLS, or has ended.
    case ended
  }

  private let context: OpaquePointer
  private let session: OpaquePointer
  /// Owned by the session.
  private let (input, output): (OpaquePointer, OpaquePointer)
  private let pin: String
  private(set) var isProven = false

  /// `nil` if OpenSSL has no memory, or is not the one of the build.
  init?(pin: String) {
    guard let context = roamward_tls_client() else { return nil }
    guard let session = SSL_new(context), let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
      SSL_CTX_free(context)
      return nil
    }
    self.context = context
    self.session = session
    (self.input, self.output) = (input, output)
    self.pin = pin
    SSL_set_bio(session, input, output)
    SSL_set_connect_state(session)
    SSL_do_handshake(session)
  }

  deinit {
    SSL_free(session)
    SSL_CTX_free(context)
  }

  /// Takes bytes of the network; returns the plain bytes. Nothing is sent to a server of another key.
  func receive(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
    guard BIO_write(input, bytes, Int32(bytes.count)) == Int32(bytes.count) else { throw .ended }
    if !isProven {
      ERR_clear_error()
      let result = SSL_do_handshake(session)
      guard result == 1 else {
        if SSL_get_error(session, result) == SSL_ERROR_WANT_READ { return [] }
        throw .ended
      }
      let found = serverPin
      guard found == pin else { throw .otherKey(found) }
      isProven = true
    }
    var plain: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 2048)
    while plain.count < 65_536 {
      ERR_clear_error()
      let count = SSL_read(session, &buffer, Int32(buffer.count))
      if count > 0 {
        plain += buffer.prefix(Int(count))
        continue
      }
      // Bytes that came before the end count.
      guard SSL_get_error(session, count) == SSL_ERROR_WANT_READ || !plain.isEmpty else { throw .ended }
      return plain
    }
    throw .ended
  }

  func send(_ bytes: [UInt8]) {
    guard isProven else { return }
    ERR_clear_error()
    _ = SSL_write(session, bytes, Int32(bytes.count))
  }

  /// The bytes for the network.
  func takeOutput() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: roamward_tls_pending(output))
    if bytes.isEmpty { return [] }
    let count = BIO_read(output, &bytes, Int32(bytes.count))
    return Array(bytes.prefix(max(0, Int(count))))
  }

  private var serverPin: String {
    guard let certificate = SSL_get1_peer_certificate(session) else { return "none" }
    defer { X509_free(certificate) }
    var start: UnsafeMutablePointer<UInt8>?
    let count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &start)
    guard count > 0, let start else { return "none" }
    defer { CRYPTO_free(start, "", 0) }
    var hash = [UInt8](repeating: 0, count: 32)
    SHA256(start, Int(count), &hash)
    return "sha256//" + base64(hash)
  }
}
