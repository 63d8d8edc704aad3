/// The result of a look at the key of a gateway's logins: a line that one program prints and another one reads.
package enum PinReading: Hashable, Sendable {
  case pin(GatewayPin)
  /// The server's name has no address; the resolver's reason.
  case noAddress(String)
  /// No address takes a connection; the reason of the last one.
  case noConnection(String)
  /// It takes connections, and does not speak TLS 1.3.
  case noTLS
  /// The look itself was not possible here.
  case failed(String)

  /// The most bytes of a line.
  package static let lineLimit = 512

  private enum Word {
    static let pin = "pin"
    static let noAddress = "no-address"
    static let noConnection = "no-connection"
    static let noTLS = "no-tls"
    static let failed = "failed"
  }

  package var line: String {
    switch self {
    case .pin(let pin): "\(Word.pin) \(pin)"
    case .noAddress(let text): "\(Word.noAddress) \(text)"
    case .noConnection(let text): "\(Word.noConnection) \(text)"
    case .noTLS: Word.noTLS
    case .failed(let text): "\(Word.failed) \(text)"
    }
  }

  /// `nil` if the bytes are not one such line, with a line end.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count <= Self.lineLimit, bytes.last == UInt8(ascii: "\n"), let line = LoginFrame.text(Array(bytes.dropLast())) else {
      return nil
    }
    let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    let text = parts.count == 2 ? String(parts[1]) : ""
    switch parts.first.map(String.init) {
    case Word.pin:
      guard let pin = GatewayPin(text) else { return nil }
      self = .pin(pin)
    case Word.noAddress: self = .noAddress(text)
    case Word.noConnection: self = .noConnection(text)
    case Word.noTLS where parts.count == 1: self = .noTLS
    case Word.failed: self = .failed(text)
    default: return nil
    }
  }
}
