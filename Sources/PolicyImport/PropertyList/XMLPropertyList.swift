internal import CExpat

/// Reads an XML property list. Entities of its own are refused, so that nothing ever expands; nothing is fetched.
///
/// expat finds the ends of elements, and gives their lines; it is hardened against hostile input and does not recurse.
func readXMLPropertyList(_ bytes: [UInt8]) throws(ImportFailure) -> Property {
  guard let parser = XML_ParserCreate(nil) else { throw ImportFailure("out of memory") }
  defer { XML_ParserFree(parser) }
  let builder = PropertyBuilder(parser)
  XML_SetUserData(parser, Unmanaged.passUnretained(builder).toOpaque())
  XML_SetStartElementHandler(parser) { data, name, _ in builderOf(data)?.begin(textOf(name)) }
  XML_SetEndElementHandler(parser) { data, name in builderOf(data)?.end(textOf(name)) }
  XML_SetCharacterDataHandler(parser) { data, start, count in
    guard let start, count > 0 else { return }
    builderOf(data)?.append(UnsafeRawBufferPointer(start: start, count: Int(count)))
  }
  XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, hasInternalSubset in
    if hasInternalSubset != 0 { builderOf(data)?.refuse("the document type declares things of its own, such as entities") }
  }
  XML_SetSkippedEntityHandler(parser) { data, _, _ in builderOf(data)?.refuse("an entity is used that XML does not define") }
  let status = bytes.withUnsafeBytes { buffer in
    XML_Parse(parser, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count), 1)
  }
  if let failure = builder.failure { throw failure }
  guard status == XML_STATUS_OK else {
    let reason = XML_ErrorString(XML_GetErrorCode(parser)).map { String(cString: $0) } ?? "not well-formed"
    throw ImportFailure(
      "this is not well-formed XML: \(reason)", help: "the file was damaged, or written by hand",
      line: Int(XML_GetCurrentLineNumber(parser)))
  }
  guard let root = builder.root else { throw ImportFailure("the property list is empty") }
  return root
}

private func builderOf(_ data: UnsafeMutableRawPointer?) -> PropertyBuilder? {
  data.map { Unmanaged<PropertyBuilder>.fromOpaque($0).takeUnretainedValue() }
}

private func textOf(_ name: UnsafePointer<XML_Char>?) -> String { name.map { String(cString: $0) } ?? "" }

/// Puts values together while expat walks through the elements. Only expat's handlers call it, within `readXMLPropertyList`.
private final class PropertyBuilder {
  private enum Container {
    case array([Property])
    case dictionary([Property.Entry], names: Set<String>, key: String?)
  }

  private let parser: XML_Parser
  private var stack: [(container: Container, line: Int)] = []
  private var depth = 0
  private var nodes = 0
  private var characters: [UInt8] = []
  /// The scalar element that is open.
  private var scalar: (name: String, line: Int)?
  private(set) var root: Property?
  private(set) var failure: ImportFailure?

  init(_ parser: XML_Parser) { self.parser = parser }

  private var line: Int { Int(XML_GetCurrentLineNumber(parser)) }

  func refuse(_ message: String, help: String? = nil) {
    if failure == nil { failure = ImportFailure(message, help: help, line: line) }
    XML_StopParser(parser, XML_Bool(XML_FALSE))
  }

  func begin(_ name: String) {
    if failure != nil { return }
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

  func append(_ bytes: UnsafeRawBufferPointer) {
    if scalar != nil {
      characters.append(contentsOf: bytes)
    } else if failure == nil, bytes.contains(where: { ![9, 10, 13, 32].contains($0) }) {
      refuse("there is text between the elements")
    }
  }

  func end(_ name: String) {
    if failure != nil { return }
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

  private func accept(key: String) {
    guard let last = stack.indices.last, case .dictionary(let entries, let names, nil) = stack[last].container else {
      return refuse("a key stands where a value was expected")
    }
    if names.contains(key) { return refuse("the key \"\(shownValue(key))\" is given twice in one dictionary", help: "keep one of the two") }
    stack[last].container = .dictionary(entries, names: names, key: key)
  }

  private func accept(_ value: Property) {
    guard let last = stack.indices.last else {
      if root != nil { return refuse("there is a second value after the first") }
      root = value
      return
    }
    let line = stack[last].line
    // Taken out first, so that the array is changed in place and not copied for every entry.
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
