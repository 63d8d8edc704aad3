/// An OpenVPN configuration, read as openvpn(8) 2.6 reads it.
///
/// The reading is openvpn's own (`read_config_file`, `parse_line`, `read_inline_file`): a filter whose reading differs lets options pass as
/// the contents of a certificate. Whatever is passed on is written anew from these values (``text(of:)``), never copied.
package struct OpenVPNFile: Equatable, Sendable {
  package struct Fault: Error, Equatable, Sendable {
    package let line: Int
    package let reason: String
  }

  package private(set) var options: [OpenVPNOption] = []
  /// Lines that openvpn would refuse, or that nobody writes who does not want to deceive a reader.
  package private(set) var faults: [Fault] = []

  package init(_ bytes: [UInt8]) {
    let text = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes.dropFirst(3) : bytes[...]
    let lines = text.split(separator: 0x0a, omittingEmptySubsequences: false)
    read(lines.enumerated().map { NumberedLine(number: $0.offset + 1, bytes: $0.element) })
  }

  private init(connection lines: [NumberedLine]) { read(lines) }

  private mutating func read(_ lines: [NumberedLine]) {
    var rest = lines[...]
    while let line = rest.popFirst() {
      do throws(Fault) {
        var words = try line.words()
        guard var name = words.first else { continue }
        if name.utf8.count >= 3, name.hasPrefix("--") { name.removeFirst(2) }
        words[0] = name
        guard words.count == 1, name.hasPrefix("<"), name.hasSuffix(">"), name.utf8.count > 1 else {
          options.append(OpenVPNOption(line: line.number, words: words))
          continue
        }
        let tag = String(name.dropFirst().dropLast())
        let (contents, after) = try block(tag, at: line.number, rest)
        rest = after
        try take(tag, contents, at: line.number)
      } catch {
        faults.append(error)
      }
    }
  }

  /// The lines of a block, and those after it. It ends at a line that begins with the end tag, whatever follows that.
  private mutating func block(
    _ tag: String, at number: Int, _ lines: ArraySlice<NumberedLine>
  ) throws(Fault) -> (ArraySlice<NumberedLine>, ArraySlice<NumberedLine>) {
    let end = Array("</\(tag)>".utf8)
    guard let last = lines.firstIndex(where: { $0.bytes.drop(while: \.isOpenVPNSpace).starts(with: end) }) else {
      faults.append(Fault(line: number, reason: "the block <\(tag)> has no end"))
      return ([], [])
    }
    let tail = lines[last].bytes.drop(while: \.isOpenVPNSpace).dropFirst(end.count)
    if !tail.allSatisfy(\.isOpenVPNSpace) {
      faults.append(Fault(line: lines[last].number, reason: "text after the end of the block <\(tag)>"))
    }
    return (lines[..<last], lines[(last + 1)...])
  }

  private mutating func take(_ tag: String, _ lines: ArraySlice<NumberedLine>, at number: Int) throws(Fault) {
    if tag == "connection" {
      let inner = OpenVPNFile(connection: Array(lines))
      faults += inner.faults
      guard inner.options.contains(where: { $0.name == "remote" }) else {
        throw Fault(line: number, reason: "a connection without `remote`")
      }
      options.append(OpenVPNOption(line: number, words: [tag], contents: .connection(inner.options)))
      return
    }
    let isArmored = lines.contains { $0.trimmed.starts(with: Array("-----BEGIN".utf8)) }
    var isInside = !isArmored
    var kept: [String] = []
    for line in lines {
      let bytes = line.trimmed
      // No line of a certificate or a key has it; openvpn reads long lines in parts.
      if bytes.contains(UInt8(ascii: "<")) { throw Fault(line: line.number, reason: "`<` inside of the block <\(tag)>") }
      if isArmored, bytes.starts(with: Array("-----BEGIN".utf8)) { isInside = true }
      if isInside, !bytes.isEmpty {
        guard bytes.allSatisfy(\.isOfContents) else {
          throw Fault(line: line.number, reason: "not the contents of a certificate or a key, inside of the block <\(tag)>")
        }
        kept.append(String(decoding: bytes, as: UTF8.self))
      }
      if isArmored, bytes.starts(with: Array("-----END".utf8)) { isInside = false }
    }
    options.append(OpenVPNOption(line: number, words: [tag], contents: .block(kept)))
  }
}

/// A line without its end.
private struct NumberedLine {
  let number: Int
  let bytes: ArraySlice<UInt8>

  var trimmed: ArraySlice<UInt8> {
    let start = bytes.drop(while: \.isOpenVPNSpace)
    return start[..<(start.lastIndex { !$0.isOpenVPNSpace }.map { $0 + 1 } ?? start.startIndex)]
  }

  /// The words of an option; none: a comment, or nothing.
  func words() throws(OpenVPNFile.Fault) -> [String] {
    func fault(_ reason: String) -> OpenVPNFile.Fault { OpenVPNFile.Fault(line: number, reason: reason) }
    if bytes.contains(where: { $0 < 0x20 && !$0.isOpenVPNSpace || $0 == 0x7f }) { throw fault("it has a control character") }
    // fgets(3) reads 255 bytes with the line's end, and openvpn refuses a line that fills them.
    if bytes.count > 253 { throw fault("it has more than 253 bytes") }
    var words = Words()
    // A line ends with a byte 0 there, which ends a word.
    for byte in bytes + [0] where !words.isAtComment { try words.take(byte, fault) }
    guard words.state == .between else { throw fault("a quote without its end, or a backslash at the end") }
    guard words.list.count <= 16 else { throw fault("it has more than 15 arguments") }
    var texts: [String] = []
    for word in words.list {
      guard let text = String(validating: word, as: UTF8.self) else { throw fault("it is not UTF-8") }
      texts.append(text)
    }
    return texts
  }
}

/// The state machine of openvpn's `parse_line`.
private struct Words {
  enum State { case between, plain, doubleQuoted, singleQuoted }

  var state = State.between
  var list: [[UInt8]] = []
  var isAtComment = false
  private var word: [UInt8] = []
  private var isEscaped = false

  mutating func take(_ byte: UInt8, _ fault: (String) -> OpenVPNFile.Fault) throws(OpenVPNFile.Fault) {
    if !isEscaped, byte == UInt8(ascii: "\\"), state != .singleQuoted {
      isEscaped = true
      return
    }
    let isSpace = byte == 0 || byte.isOpenVPNSpace
    let isQuote = byte == UInt8(ascii: "\"") && !isEscaped
    if isEscaped, !(isSpace && byte != 0), byte != UInt8(ascii: "\\"), byte != UInt8(ascii: "\"") {
      throw fault("a backslash before anything but a blank, a quote or a backslash")
    }
    switch state {
    case .between:
      if isSpace {
        // openvpn forgets the backslash before a blank between words.
      } else if byte == UInt8(ascii: ";") || byte == UInt8(ascii: "#") {
        isAtComment = true
      } else if isQuote {
        state = .doubleQuoted
      } else if byte == UInt8(ascii: "'") {
        state = .singleQuoted
      } else {
        word.append(byte)
        state = .plain
      }
    case .plain: isSpace && !isEscaped ? end() : word.append(byte)
    case .doubleQuoted: isQuote ? end() : append(byte)
    case .singleQuoted: byte == UInt8(ascii: "'") ? end() : append(byte)
    }
    isEscaped = false
  }

  /// The byte 0 after a line is no part of a quoted word.
  private mutating func append(_ byte: UInt8) { if byte != 0 { word.append(byte) } }

  private mutating func end() {
    list.append(word)
    (word, state) = ([], .between)
  }
}

extension UInt8 {
  /// isspace(3) in the C locale.
  fileprivate var isOpenVPNSpace: Bool { self == 0x20 || (0x09...0x0d).contains(self) }

  /// Whether PEM, base64, a static key or a fingerprint contains it.
  fileprivate var isOfContents: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "+/=:,._-#() ".utf8.contains(self)
    }
  }
}
