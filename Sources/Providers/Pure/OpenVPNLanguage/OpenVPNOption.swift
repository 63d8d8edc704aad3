/// An option of an OpenVPN configuration.
package struct OpenVPNOption: Equatable, Sendable {
  package enum Contents: Equatable, Sendable {
    case none
    /// The lines between `<tag>` and `</tag>`.
    case block([String])
    /// The options between `<connection>` and `</connection>`.
    case connection([OpenVPNOption])
  }

  package let line: Int
  /// The name without dashes, and the arguments.
  package var words: [String]
  package var contents: Contents = .none

  package init(line: Int = 0, words: [String], contents: Contents = .none) {
    (self.line, self.words, self.contents) = (line, words, contents)
  }

  package var name: String { words.first ?? "" }
  package var arguments: ArraySlice<String> { words.dropFirst() }
}

extension OpenVPNFile {
  /// The options as text that openvpn reads as these options and nothing else.
  package static func text(of options: [OpenVPNOption]) -> String { options.map(\.text).joined() }
}

extension OpenVPNOption {
  fileprivate var text: String {
    switch contents {
    case .none: words.map(quoted).joined(separator: " ") + "\n"
    case .block(let lines): "<\(name)>\n" + lines.map { $0 + "\n" }.joined() + "</\(name)>\n"
    case .connection(let options): "<\(name)>\n" + OpenVPNFile.text(of: options) + "</\(name)>\n"
    }
  }
}

private func quoted(_ word: String) -> String {
  let isPlain = !word.isEmpty && word.utf8.allSatisfy(isPlainByte)
  return isPlain ? word : "\"" + word.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
}

private func isPlainByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
  default: "+/=:,._-@%!".utf8.contains(byte)
  }
}
