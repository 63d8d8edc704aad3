import RoamwardCore
import YAMLEvents

/// Limits of the work that a file can cause.
enum YAMLLimits {
  static let depth = 32
  static let nodes = 200_000
}

/// Reads one YAML document, or JSON, into a tree. An empty text or a file without a document is `nil` without a problem.
///
/// Anchors, aliases and tags are refused, so nothing is ever expanded. The tree contains the readable rest beside such errors.
package func readYAML(_ source: SourceText) -> (root: Node?, diagnostics: DiagnosticList) {
  var problems = DiagnosticList()
  problems.append(contentsOf: textProblems(source))
  if problems.hasErrors { return (nil, problems) }
  do throws(YAMLSyntaxError) {
    var reader = YAMLReader(source: source, events: try YAMLEventStream(source.bytes), problems: problems)
    let root: Node?
    do throws(YAMLReader.Stop) { root = try reader.readStream() } catch { root = nil }
    return (root, reader.problems)
  } catch {
    problems.add(.error, error.problem, at: source.start, in: source)
    return (nil, problems)
  }
}

private struct YAMLReader: ~Copyable {
  /// Stops the reading; the reason has been reported.
  struct Stop: Error {}

  let source: SourceText
  var events: YAMLEventStream
  var problems: DiagnosticList
  private var nodes = 0

  init(source: SourceText, events: consuming YAMLEventStream, problems: DiagnosticList) {
    self.source = source
    self.events = events
    self.problems = problems
  }

  mutating func readStream() throws(Stop) -> Node? {
    var root: Node?
    while true {
      let event = try next()
      switch event.kind {
      case .streamEnd: return root
      case .streamStart, .documentEnd: continue
      case .documentStart:
        if root != nil { throw stop(event, "a second document begins here", help: "one file holds one document: remove the `---`") }
        root = try readNode(try next(), depth: 1)
      default: continue
      }
    }
  }

  private mutating func readNode(_ event: YAMLEvent, depth: Int) throws(Stop) -> Node {
    let place = location(event.mark)
    nodes += 1
    if nodes > YAMLLimits.nodes { throw stop(event, "the file holds more than 200,000 values", help: "split it into several files") }
    if depth > YAMLLimits.depth { throw stop(event, "this is nested more than \(YAMLLimits.depth) levels deep") }
    if event.hasAnchor { refuse("anchors and aliases are not allowed", help: "write the value out where it is needed", at: place) }
    if event.hasTag { refuse("tags are not allowed", help: "remove the `!`: what a value means depends on its key alone", at: place) }
    switch event.kind {
    case .scalar(let text, let isPlain):
      if isPlain, text.isEmpty || text == "~" { return Node(content: .null, location: place) }
      guard !holdsControlCharacters(text) else {
        refuse("this text holds a control character", help: "remove it; write an SSID with such bytes as hex:…", at: place)
        return Node(content: .refused, location: place)
      }
      return Node(content: .scalar(text, isPlain: isPlain), location: place)
    case .sequenceStart: return Node(content: .sequence(try readItems(depth: depth)), location: place)
    case .mappingStart: return Node(content: .mapping(try readEntries(depth: depth)), location: place)
    case .alias: refuse("anchors and aliases are not allowed", help: "write the value out where it is needed", at: place)
    default: break
    }
    return Node(content: .refused, location: place)
  }

  private mutating func readItems(depth: Int) throws(Stop) -> [Node] {
    var items: [Node] = []
    while true {
      let event = try next()
      if case .sequenceEnd = event.kind { return items }
      items.append(try readNode(event, depth: depth + 1))
    }
  }

  private mutating func readEntries(depth: Int) throws(Stop) -> [Node.Entry] {
    var entries: [Node.Entry] = []
    var seen: [String: SourceLocation] = [:]
    while true {
      let event = try next()
      if case .mappingEnd = event.kind { return entries }
      let key = try readNode(event, depth: depth + 1)
      let value = try readNode(try next(), depth: depth + 1)
      switch key.content {
      case .scalar(let text, _):
        if let first = seen.updateValue(key.location, forKey: text) {
          seen[text] = first
          refuse("\(quoted(text)) is given twice; the first is at \(first)", help: "keep one of the two", at: key.location)
        } else {
          entries.append(Node.Entry(key: text, keyLocation: key.location, value: value))
        }
      case .null: refuse("a key is missing before this colon", at: key.location)
      case .sequence, .mapping: refuse("a key has to be a word, not \(key.kind)", at: key.location)
      case .refused: break
      }
    }
  }

  private mutating func next() throws(Stop) -> YAMLEvent {
    do throws(YAMLSyntaxError) {
      return try events.next()
    } catch {
      if let slip = source.colonSlip(of: error) {
        refuse(slip.message, help: slip.help, at: SourceLocation(file: source.file, line: slip.line, column: slip.column))
        throw Stop()
      }
      let since = error.context.map { " \($0.text), which begins at line \($0.mark.line)" }
      let help =
        error.problem.contains("cannot start any token") || error.problem.contains("tab character")
        ? "indent with spaces, not tabs; put quotes around a value that begins with @, ` or %" : since.map { "this was found\($0)" }
      refuse("not valid YAML: \(error.problem)", help: help, at: location(error.mark))
      throw Stop()
    }
  }

  private mutating func stop(_ event: YAMLEvent, _ message: String, help: String? = nil) -> Stop {
    refuse(message, help: help, at: location(event.mark))
    return Stop()
  }

  private mutating func refuse(_ message: @autoclosure () -> String, help: String? = nil, at place: SourceLocation) {
    problems.add(.error, message(), help: help, at: place, in: source)
  }

  private func location(_ mark: YAMLEvent.Mark) -> SourceLocation {
    SourceLocation(file: source.file, line: mark.line, column: mark.column)
  }
}
