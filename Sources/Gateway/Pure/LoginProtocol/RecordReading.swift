/// The result of a question for a gateway's TLSA records: a line that one program prints and another one reads.
package enum RecordReading: Hashable, Sendable {
  /// The answer: the pins of records (`PinRecord`), the number of records of other kinds, and whether the name server says that it has
  /// validated all of it.
  case answer(pins: [GatewayPin], others: Int, isAuthenticated: Bool)
  /// There is no answer, or none that says whether there is a record; the reason.
  case failed(String)

  /// The most bytes of a line.
  package static let lineLimit = 2048
  /// The most pins of an answer.
  package static let pinLimit = 32

  private enum Word {
    static let answer = "answer"
    static let authenticated = "authenticated"
    static let unauthenticated = "unauthenticated"
    static let failed = "failed"
  }

  package var line: String {
    switch self {
    case .answer(let pins, let others, let isAuthenticated):
      ([Word.answer, isAuthenticated ? Word.authenticated : Word.unauthenticated, "\(others)"] + pins.map(\.description))
        .joined(separator: " ")
    case .failed(let text): "\(Word.failed) \(text)"
    }
  }

  /// `nil` if the bytes are not one such line, with a line end.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count <= Self.lineLimit, bytes.last == UInt8(ascii: "\n"), let line = LoginFrame.text(Array(bytes.dropLast())) else {
      return nil
    }
    if line.hasPrefix(Word.failed + " ") {
      self = .failed(String(line.dropFirst(Word.failed.count + 1)))
      return
    }
    let parts = line.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[0] == Word.answer, [Word.authenticated, Word.unauthenticated].contains(String(parts[1])),
      parts[2].utf8.allSatisfy({ (48...57).contains($0) }), let others = Int(parts[2]), others <= 1000, "\(others)" == parts[2],
      parts.count - 3 <= Self.pinLimit
    else { return nil }
    let pins = parts[3...].compactMap { GatewayPin(String($0)) }
    guard pins.count == parts.count - 3 else { return nil }
    self = .answer(pins: pins, others: others, isAuthenticated: parts[1] == Word.authenticated)
  }
}
