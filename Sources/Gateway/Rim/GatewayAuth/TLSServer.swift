internal import CTLS

/// TLS 1.3 (RFC 8446) of a server by OpenSSL, between memory buffers: bytes in, bytes out. It touches no socket.
final class TLSServer {
  fileprivate let context: OpaquePointer

  /// Loads what OpenSSL would load later; no configuration file. Before the process is confined.
  static func prepare() { _ = OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) }

  /// `identity`: a certificate and its key in PEM. `nil` if it is none.
  init?(identity: String) {
    guard let context = roamward_tls_server() else { return nil }
    self.context = context
    func read<Value>(_ body: (OpaquePointer) -> Value?) -> Value? {
      guard let memory = BIO_new(BIO_s_mem()) else { return nil }
      defer { BIO_free(memory) }
      BIO_write(memory, identity, Int32(identity.utf8.count))
      return body(memory)
    }
    guard let certificate = read({ PEM_read_bio_X509($0, nil, nil, nil) }) else { return nil }
    defer { X509_free(certificate) }
    guard let key = read({ PEM_read_bio_PrivateKey($0, nil, nil, nil) }) else { return nil }
    defer { EVP_PKEY_free(key) }
    guard SSL_CTX_use_certificate(context, certificate) == 1, SSL_CTX_use_PrivateKey(context, key) == 1 else { return nil }
  }

  deinit { SSL_CTX_free(context) }
}

/// One connection.
final class TLSConnection {
  private let session: OpaquePointer
  /// Owned by the session.
  private let (input, output): (OpaquePointer, OpaquePointer)
  private let keyUpdates = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)

  /// The most plain bytes that one call of `receive` returns.
  private static let limit = 65_536

  /// More requests for new keys end a connection. A client needs one in 2^24 records; each is work that others wait for.
  private static let mostKeyUpdates: UInt32 = 16

  init?(_ server: TLSServer) {
    keyUpdates.initialize(to: 0)
    guard let session = SSL_new(server.context), let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
      keyUpdates.deallocate()
      return nil
    }
    self.session = session
    (self.input, self.output) = (input, output)
    SSL_set_bio(session, input, output)
    SSL_set_accept_state(session)
    roamward_tls_count_key_updates(session, keyUpdates)
  }

  deinit {
    SSL_free(session)
    keyUpdates.deallocate()
  }

  /// Takes bytes of the network. Returns the plain bytes; `nil` if the peer has ended, or did not follow TLS.
  func receive(_ bytes: [UInt8]) -> [UInt8]? {
    guard BIO_write(input, bytes, Int32(bytes.count)) == Int32(bytes.count) else { return nil }
    var plain: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 2048)
    while plain.count < Self.limit {
      ERR_clear_error()
      let count = SSL_read(session, &buffer, Int32(buffer.count))
      if keyUpdates.pointee > Self.mostKeyUpdates { return nil }
      if count > 0 {
        plain += buffer.prefix(Int(count))
        continue
      }
      return SSL_get_error(session, count) == SSL_ERROR_WANT_READ ? plain : nil
    }
    return nil
  }

  /// Takes plain bytes; `false` if the connection cannot carry them.
  func send(_ bytes: [UInt8]) -> Bool {
    ERR_clear_error()
    return SSL_write(session, bytes, Int32(bytes.count)) == Int32(bytes.count)
  }

  func end() {
    ERR_clear_error()
    SSL_shutdown(session)
  }

  /// The bytes for the network.
  func takeOutput() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: roamward_tls_pending(output))
    if bytes.isEmpty { return [] }
    let count = BIO_read(output, &bytes, Int32(bytes.count))
    return Array(bytes.prefix(max(0, Int(count))))
  }
}
