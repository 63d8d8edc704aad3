/// Limits of the messages to `roamward-proxy`.
package enum ProxyLimits {
  /// The longest script in bytes: 1 MiB.
  package static let script = 1 << 20
  /// Bytes of a script in one message.
  package static let part = 32 << 10
  /// Bytes of a text in a report; the rest is cut off.
  package static let text = 1000
}

/// A message to `roamward-proxy`: a byte for its kind, and its content.
package enum ProxyOrder: Equatable, Sendable {
  /// The first message: it serves scripts for the agent.
  case serve
  /// The first message: it runs one script, for one URL.
  case evaluate
  /// The socket at which it is asked: attached.
  case listener
  /// The next part of a script, at most `ProxyLimits.part` bytes.
  case part([UInt8])
  /// The script that was sent is complete, and is served from now on. Answered by `done`.
  case use
  /// The script that was sent is complete: which proxy is for this URL, with this host, on a machine with this address. Answered by
  /// `result`.
  case find(url: String, host: String, ownAddress: String)

  package var bytes: [UInt8] {
    switch self {
    case .serve: [UInt8(ascii: "S")]
    case .evaluate: [UInt8(ascii: "E")]
    case .listener: [UInt8(ascii: "L")]
    case .part(let bytes): [UInt8(ascii: "P")] + bytes
    case .use: [UInt8(ascii: "U")]
    case .find(let url, let host, let ownAddress): [UInt8(ascii: "F")] + "\(url)\n\(host)\n\(ownAddress)".utf8
    }
  }

  /// `nil`: it is no message.
  package init?(_ bytes: [UInt8]) {
    let content = bytes.dropFirst()
    switch bytes.first {
    case UInt8(ascii: "S") where content.isEmpty: self = .serve
    case UInt8(ascii: "E") where content.isEmpty: self = .evaluate
    case UInt8(ascii: "L") where content.isEmpty: self = .listener
    case UInt8(ascii: "P") where content.count <= ProxyLimits.part: self = .part(Array(content))
    case UInt8(ascii: "U") where content.isEmpty: self = .use
    case UInt8(ascii: "F"):
      let words = String(decoding: content, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      guard words.count == 3 else { return nil }
      self = .find(url: words[0], host: words[1], ownAddress: words[2])
    default: return nil
    }
  }

  /// A whole script as messages.
  package static func parts(of script: [UInt8]) -> [ProxyOrder] {
    stride(from: 0, to: script.count, by: ProxyLimits.part).map { start in
      .part(Array(script[start..<min(start + ProxyLimits.part, script.count)]))
    }
  }
}

/// A message of `roamward-proxy`, which may be compromised.
package enum ProxyReport: Equatable, Sendable {
  /// The first message: it is confined, or the reason why it is not and ends.
  case hello(trouble: String?)
  /// The answer to `use`.
  case done
  /// The answer to `find`: what the script has returned; `nil`: it has failed.
  case result(String?)

  package var bytes: [UInt8] {
    func text(_ kind: Unicode.Scalar, _ text: String) -> [UInt8] { [UInt8(ascii: kind)] + text.utf8.prefix(ProxyLimits.text) }
    switch self {
    case .hello(let trouble): return text("H", trouble ?? "")
    case .done: return text("D", "")
    case .result(let result): return result.map { text("R", $0) } ?? text("N", "")
    }
  }

  package struct Malformed: Error, CustomStringConvertible {
    package let description = "a message of another kind"

    package init() {}
  }

  /// Any bytes give a value or an error.
  package init(_ bytes: [UInt8]) throws(Malformed) {
    let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
    guard bytes.count <= ProxyLimits.text + 1 else { throw Malformed() }
    switch bytes.first {
    case UInt8(ascii: "H"): self = .hello(trouble: text.isEmpty ? nil : text)
    case UInt8(ascii: "D") where text.isEmpty: self = .done
    case UInt8(ascii: "R"): self = .result(text)
    case UInt8(ascii: "N") where text.isEmpty: self = .result(nil)
    default: throw Malformed()
    }
  }
}
