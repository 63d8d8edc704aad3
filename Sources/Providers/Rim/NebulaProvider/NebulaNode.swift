internal import JSON
internal import YAMLEvents

/// A tree of YAML without anything that two readers could read differently: no anchors, aliases, tags, merged or repeated keys.
struct NebulaNode: Equatable {
  struct Entry: Equatable {
    var key: String
    var line: Int
    var value: NebulaNode
  }

  enum Content: Equatable {
    case scalar(String, isPlain: Bool)
    case list([NebulaNode])
    case mapping([Entry])
  }

  var line: Int
  var content: Content

  var isScalar: Bool { if case .scalar = content { true } else { false } }

  var isEmpty: Bool {
    switch content {
    case .scalar(let text, let isPlain): isPlain && ["", "~", "null", "Null", "NULL"].contains(text)
    case .list(let items): items.isEmpty
    case .mapping(let entries): entries.isEmpty
    }
  }

  /// The value of a key; `nil`: it has no such key.
  subscript(_ key: String) -> NebulaNode? {
    guard case .mapping(let entries) = content else { return nil }
    return entries.first { $0.key == key }?.value
  }

  /// Whether it turns something off: `false`, `none`, or a mapping whose `enabled` or `type` does.
  var isOff: Bool {
    switch content {
    case .scalar(let text, _): ["false", "no", "off", "n", "none", "0"].contains(text.lowercased())
    case .list: false
    case .mapping(let entries):
      entries.allSatisfy { $0.key != "enabled" && $0.key != "type" || $0.value.isOff || $0.value.isEmpty }
        && entries.contains { $0.key == "enabled" || $0.key == "type" }
    }
  }
}

extension NebulaNode {
  private static let deepest = 16
  private static let largest = 20_000

  init(parsing bytes: [UInt8]) throws(NebulaFile.Failure) {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw NebulaFile.Failure(line: 1, reason: "it is not UTF-8") }
    var line = 1
    for scalar in text.unicodeScalars {
      if scalar == "\n" { line += 1 }
      let isControl = scalar.value < 0x20 && !["\n", "\r", "\t"].contains(scalar) || (0x7f..<0xa0).contains(scalar.value)
      // Line ends of YAML 1.1 that other readers do not know.
      if isControl || scalar == "\u{2028}" || scalar == "\u{2029}" {
        throw NebulaFile.Failure(line: line, reason: "it has a control character")
      }
    }
    var parser = try NebulaParser(bytes)
    self = try parser.document()
  }

  /// Reads the events of one document.
  private struct NebulaParser: ~Copyable {
    private var stream: YAMLEventStream
    private var nodes = 0

    init(_ bytes: [UInt8]) throws(NebulaFile.Failure) {
      do throws(YAMLSyntaxError) { stream = try YAMLEventStream(bytes) } catch {
        throw NebulaFile.Failure(line: error.mark.line, reason: error.problem)
      }
    }

    private mutating func next() throws(NebulaFile.Failure) -> YAMLEvent {
      do throws(YAMLSyntaxError) { return try stream.next() } catch {
        throw NebulaFile.Failure(line: error.mark.line, reason: error.problem)
      }
    }

    mutating func document() throws(NebulaFile.Failure) -> NebulaNode {
      _ = try next()
      let start = try next()
      guard case .documentStart = start.kind else { return NebulaNode(line: 1, content: .mapping([])) }
      let node = try node(try next(), depth: 0)
      _ = try next()
      let end = try next()
      guard case .streamEnd = end.kind else { throw error("a second document", end.mark) }
      return node
    }

    private func error(_ problem: String, _ mark: YAMLEvent.Mark) -> NebulaFile.Failure {
      NebulaFile.Failure(line: mark.line, reason: problem)
    }

    private mutating func node(_ event: YAMLEvent, depth: Int) throws(NebulaFile.Failure) -> NebulaNode {
      nodes += 1
      guard depth <= NebulaNode.deepest, nodes <= NebulaNode.largest else { throw error("it is too large or too deep", event.mark) }
      guard !event.hasAnchor, !event.hasTag else { throw error("anchors and tags are not supported; write the value itself", event.mark) }
      let line = event.mark.line
      switch event.kind {
      case .scalar(let text, let isPlain): return NebulaNode(line: line, content: .scalar(text, isPlain: isPlain))
      case .sequenceStart:
        var items: [NebulaNode] = []
        while true {
          let inner = try next()
          if case .sequenceEnd = inner.kind { return NebulaNode(line: line, content: .list(items)) }
          items.append(try node(inner, depth: depth + 1))
        }
      case .mappingStart:
        var entries: [Entry] = []
        while true {
          let inner = try next()
          if case .mappingEnd = inner.kind { return NebulaNode(line: line, content: .mapping(entries)) }
          guard case .scalar(let key, _) = inner.kind, !inner.hasAnchor, !inner.hasTag, key != "<<" else {
            throw error("a key that is no word", inner.mark)
          }
          if entries.contains(where: { $0.key == key }) { throw error("a key is given twice", inner.mark) }
          entries.append(Entry(key: key, line: inner.mark.line, value: try node(try next(), depth: depth + 1)))
        }
      case .alias: throw error("aliases are not supported; write the value itself", event.mark)
      default: throw error("expected a value", event.mark)
      }
    }
  }
}

extension NebulaNode {
  /// The tree in flow style. Words are quoted, except numbers and truth values.
  var text: String {
    switch content {
    case .scalar(let text, let isPlain): isPlain ? Self.plain(text) ?? Self.quoted(text) : Self.quoted(text)
    case .list(let items): "[" + items.map(\.text).joined(separator: ", ") + "]"
    case .mapping(let entries): "{" + entries.map { "\(Self.quoted($0.key)): \($0.value.text)" }.joined(separator: ", ") + "}"
    }
  }

  private static func plain(_ text: String) -> String? {
    switch text.lowercased() {
    case "true", "yes", "on", "y": return "true"
    case "false", "no", "off", "n": return "false"
    case "", "~", "null": return "null"
    default:
      let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
      let isNumber = (1...18).contains(digits.utf8.count) && digits.utf8.allSatisfy { (48...57).contains($0) }
      return isNumber && (digits == "0" || !digits.hasPrefix("0")) ? text : nil
    }
  }

  /// JSON's quotes are YAML's too.
  private static func quoted(_ text: String) -> String { JSON.string(text).text() }
}
