internal import NetworkTypes
internal import XMLEvents

/// Reads an XML property list. Entity declarations are refused, so nothing is ever expanded. Nothing is fetched.
func readXMLPropertyList(_ bytes: [UInt8]) throws(ImportFailure) -> Property {
  var builder = PropertyBuilder()
  do throws(XMLSyntaxError) {
    try readXML(bytes) { event, line in builder.take(event, line: line) }
  } catch {
    throw ImportFailure("this is not well-formed XML: \(error.reason)", help: "the file was damaged, or written by hand", line: error.line)
  }
  if let failure = builder.failure { throw failure }
  guard let root = builder.root else { throw ImportFailure("the property list is empty") }
  return root
}

/// Builds values from the events of the elements.
private struct PropertyBuilder {
  private enum Container {
    case array([Property])
    case dictionary([Property.Entry], names: Set<String>, key: String?)
  }

  /// The line of the current event.
  private var line = 1
  private var stack: [(container: Container, line: Int)] = []
  private var depth = 0
  private var nodes = 0
  private var characters: [UInt8] = []
  /// The open scalar element.
  private var scalar: (name: String, line: Int)?
  private(set) var root: Property?
  private(set) var failure: ImportFailure?

  /// `false` after the list is refused.
  mutating func take(_ event: XMLEvent, line: Int) -> Bool {
    self.line = line
    switch event {
    case .begin(let name): begin(name)
    case .end(let name): end(name)
    case .characters(let bytes): append(bytes)
    case .ownDeclarations: refuse("the document type declares things of its own, such as entities")
    case .undefinedEntity: refuse("an entity is used that XML does not define")
    }
    return failure == nil
  }

  private mutating func refuse(_ message: String, help: String? = nil) {
    if failure == nil { failure = ImportFailure(message, help: help, line: line) }
  }

  private mutating func begin(_ name: String) {
    depth += 1
    nodes += 1
    guard depth <= ImportLimits.depth + 1 else { return refuse("lists are nested more than \(ImportLimits.depth) deep") }
    guard nodes <= ImportLimits.nodes else { return refuse("there are more than \(ImportLimits.nodes) values") }
    if depth == 1 {
      if name != "plist" { refuse("this is XML, but no property list: it begins with <\(shown(name))>") }
      return
    }
    guard scalar == nil else { return refuse("<\(shown(name))> stands inside a text") }
    characters = []
    switch name {
    case "dict": stack.append((.dictionary([], names: [], key: nil), line))
    case "array": stack.append((.array([]), line))
    case "key", "string", "integer", "real", "true", "false", "data", "date": scalar = (name, line)
    default: refuse("property lists have no element <\(shown(name))>")
    }
  }

  private mutating func append(_ bytes: [UInt8]) {
    if scalar != nil {
      characters.append(contentsOf: bytes)
    } else if bytes.contains(where: { ![9, 10, 13, 32].contains($0) }) {
      refuse("there is text between the elements")
    }
  }

  private mutating func end(_ name: String) {
    depth -= 1
    if depth == 0 {
      if !stack.isEmpty { refuse("an element is not closed") }
      return
    }
    if let open = scalar {
      scalar = nil
      let text = String(decoding: characters, as: UTF8.self)
      if open.name == "key" { return accept(key: text) }
      guard let content = scalarContent(open.name, text) else { return refuse("this is no \(open.name)") }
      return accept(Property(content, line: open.line))
    }
    guard let (container, line) = stack.popLast() else { return refuse("an element is closed that is not open") }
    switch container {
    case .array(let items): accept(Property(.array(items), line: line))
    case .dictionary(let entries, _, let key):
      if let key { return refuse("the key \"\(shownValue(key))\" has no value") }
      accept(Property(.dictionary(entries), line: line))
    }
  }

  private mutating func accept(key: String) {
    guard let last = stack.indices.last, case .dictionary(let entries, let names, nil) = stack[last].container else {
      return refuse("a key stands where a value was expected")
    }
    if names.contains(key) { return refuse("the key \"\(shownValue(key))\" is given twice in one dictionary", help: "keep one of the two") }
    stack[last].container = .dictionary(entries, names: names, key: key)
  }

  private mutating func accept(_ value: Property) {
    guard let last = stack.indices.last else {
      if root != nil { return refuse("there is a second value after the first") }
      root = value
      return
    }
    let line = stack[last].line
    // Removed first, so that the array is changed in place and not copied for every entry.
    switch stack.removeLast().container {
    case .array(var items):
      items.append(value)
      stack.append((.array(items), line))
    case .dictionary(var entries, var names, let key):
      guard let key else { return refuse("a value stands where a key was expected") }
      entries.append(Property.Entry(key, value))
      names.insert(key)
      stack.append((.dictionary(entries, names: names, key: nil), line))
    }
  }
}

private func scalarContent(_ name: String, _ text: String) -> Property.Content? {
  switch name {
  case "string": return .string(text)
  case "true": return .boolean(true)
  case "false": return .boolean(false)
  case "integer":
    let digits = trimmed(text)
    if digits.hasPrefix("0x") { return Int64(digits.dropFirst(2), radix: 16).map { .integer($0) } }
    return Int64(digits).map { .integer($0) }
  case "real": return Double(trimmed(text)).map { .real($0) }
  case "date": return .date(trimmed(text))
  case "data": return bytes(fromBase64: text).map { .data($0) }
  default: return nil
  }
}
