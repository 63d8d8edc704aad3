internal import JSON
internal import YAMLEvents

/// The way in which a file of a report is read.
package enum ReportFormat: Sendable {
  /// Free text: it is searched, because it has no structure.
  case text
  case yaml
  case json
  /// Settings in lines: wg-quick's, NetworkManager's, OpenVPN's.
  case settings

  /// The format of a file that a policy names, by its name; `nil`: the file may be a secret as a whole.
  package init?(ofFile name: String) {
    switch name.split(separator: ".").last {
    case "yaml", "yml": self = .yaml
    case "json": self = .json
    case "conf", "ovpn", "nmconnection": self = .settings
    default: return nil
    }
  }
}

extension ReportNode {
  private static let deepest = 64

  /// Reads YAML or JSON. `nil`: the text is neither, or has aliases, more than one document, or more levels than a policy may have.
  init?(yaml text: String) {
    do throws(YAMLSyntaxError) {
      var events = try YAMLEventStream(Array(text.utf8))
      var documents: [ReportNode] = []
      while true {
        let event = try events.next()
        switch event.kind {
        case .streamEnd:
          guard documents.count == 1 else { return nil }
          self = documents[0]
          return
        case .streamStart, .documentStart, .documentEnd: continue
        default:
          guard let node = try Self.read(event, &events, depth: 1) else { return nil }
          documents.append(node)
        }
      }
    } catch {
      return nil
    }
  }

  private static func read(_ event: YAMLEvent, _ events: inout YAMLEventStream, depth: Int) throws(YAMLSyntaxError) -> ReportNode? {
    guard depth <= deepest else { return nil }
    switch event.kind {
    case .scalar(let text, let isPlain): return .scalar(text, isPlain: isPlain)
    case .sequenceStart:
      var items: [ReportNode] = []
      while true {
        let next = try events.next()
        if case .sequenceEnd = next.kind { return .list(items) }
        guard let item = try read(next, &events, depth: depth + 1) else { return nil }
        items.append(item)
      }
    case .mappingStart:
      var entries: [Entry] = []
      while true {
        let next = try events.next()
        if case .mappingEnd = next.kind { return .mapping(entries) }
        guard let key = try read(next, &events, depth: depth + 1), let value = try read(try events.next(), &events, depth: depth + 1)
        else { return nil }
        // A key that is no word has no meaning for any program of ours.
        if case .scalar(let text, _) = key {
          entries.append(Entry(key: text, value: value))
        } else {
          entries.append(Entry(key: Disclosure.mark, value: .scalar(Disclosure.mark, isPlain: true)))
        }
      }
    default: return nil
    }
  }
}

/// A text as JSON writes it, which YAML reads too.
enum JSONText {
  static func quoted(_ text: String) -> String { JSON.string(text).text() }

  static func document(_ node: ReportNode) -> String { JSON(node).text(indented: true) + "\n" }
}

extension JSON {
  /// The node as JSON: words without quotes are what JSON takes them for.
  init(_ node: ReportNode) {
    switch node {
    case .scalar(let text, true) where JSON(plain: text) != nil: self = JSON(plain: text) ?? .null
    case .scalar(let text, _): self = .string(text)
    case .list(let items): self = .array(items.map { JSON($0) })
    case .mapping(let entries): self = .object(entries.map { Member(key: $0.key, value: JSON($0.value)) })
    }
  }

  private init?(plain text: String) {
    switch text {
    case "null": self = .null
    case "true": self = .bool(true)
    case "false": self = .bool(false)
    default:
      guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || "-+.eE".utf8.contains($0) }) else { return nil }
      guard let number = Int64(text).map({ JSON.integer($0) }) ?? Double(text).map({ .real($0) }) else { return nil }
      self = number
    }
  }
}
