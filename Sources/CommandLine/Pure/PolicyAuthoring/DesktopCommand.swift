/// `Exec` of a file for launchers: a program and its arguments, with codes in the place of files and URLs.
struct DesktopCommand: Equatable, Sendable {
  /// A part of an argument.
  enum Piece: Equatable, Sendable {
    case literal(String)
    /// `u` of `%u`.
    case code(Unicode.Scalar)
  }

  struct Word: Equatable, Sendable {
    var pieces: [Piece] = []

    init() {}

    init(literal: String) { pieces = [.literal(literal)] }

    mutating func append(_ scalar: Unicode.Scalar) {
      if case .literal(let text) = pieces.last {
        pieces[pieces.count - 1] = .literal(text + String(scalar))
      } else {
        pieces.append(.literal(String(scalar)))
      }
    }

    fileprivate var isQuoted: Bool {
      pieces.contains {
        if case .literal(let text) = $0 { text.isEmpty || text.unicodeScalars.contains(where: \.isReserved) } else { false }
      }
    }

    fileprivate var hasCode: Bool { pieces.contains { if case .code = $0 { true } else { false } } }
  }

  var words: [Word]

  init(words: [Word]) { self.words = words }

  /// In double quotes these have a backslash before them.
  private static let escaped = Set("\"`$\\".unicodeScalars)

  /// Codes that stand for something, and those of earlier versions, which stand for nothing.
  private static let (codes, outdated) = (Set("fFuUick".unicodeScalars), Set("dDnNvm".unicodeScalars))

  init(_ text: String, line: Int) throws(DesktopEntry.Mistake) {
    func mistake(_ text: String) -> DesktopEntry.Mistake { DesktopEntry.Mistake(line: line, text: "`Exec`: \(text)") }
    words = []
    var word: Word?
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      switch scalar {
      case " ":
        if let word { words.append(word) }
        word = nil
      case "\"":
        word = word ?? Word()
        try Self.takeQuoted(&rest, into: &word, mistake)
      case "%":
        word = word ?? Word()
        guard let code = rest.popFirst() else { throw mistake("a % is followed by a letter, or by another %") }
        if code == "%" {
          word?.append(code)
        } else if Self.codes.contains(code) {
          word?.pieces.append(.code(code))
        } else if !Self.outdated.contains(code) {
          throw mistake("%\(code) stands for nothing")
        }
      default:
        if scalar.isReserved { throw mistake("\(scalar) is in double quotes, or not there") }
        word = word ?? Word()
        word?.append(scalar)
      }
    }
    if let word { words.append(word) }
    // Of codes that stand for nothing.
    words.removeAll(where: \.pieces.isEmpty)
    guard let first = words.first, !first.hasCode, first.pieces != [.literal("")] else { throw mistake("it names no program") }
    guard !words.contains(where: { $0.isQuoted && $0.hasCode }) else { throw mistake("a code such as %u is not in quotes") }
  }

  private static func takeQuoted(
    _ rest: inout Substring.UnicodeScalarView, into word: inout Word?, _ mistake: (String) -> DesktopEntry.Mistake
  ) throws(DesktopEntry.Mistake) {
    if case .literal = word?.pieces.last {} else { word?.pieces.append(.literal("")) }
    while let scalar = rest.popFirst() {
      switch scalar {
      case "\"": return
      case "\\":
        guard let next = rest.popFirst(), escaped.contains(next) else {
          throw mistake("a backslash is followed by one of \", `, $ and \\")
        }
        word?.append(next)
      case "`", "$": throw mistake("\(scalar) in quotes has a backslash before it")
      case "%":
        guard rest.popFirst() == "%" else { throw mistake("a code such as %u is not in quotes") }
        word?.append("%")
      default: word?.append(scalar)
      }
    }
    throw mistake("a quote has no end")
  }

  /// As it is written, before the escapes of every value.
  var text: String {
    words.map { word in
      let inner = word.pieces.map { piece in
        switch piece {
        case .code(let code): "%\(code)"
        case .literal(let text):
          text.unicodeScalars.map { $0 == "%" ? "%%" : Self.escaped.contains($0) ? "\\\($0)" : String($0) }.joined()
        }
      }.joined()
      return word.isQuoted ? "\"\(inner)\"" : inner
    }.joined(separator: " ")
  }
}

extension Unicode.Scalar {
  /// Whether it has to be in quotes.
  fileprivate var isReserved: Bool { " \t\n\"'\\><~|&;$*?#()`".unicodeScalars.contains(self) }
}
