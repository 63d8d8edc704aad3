internal import JSON

/// Reads a property list in any of its forms: XML, binary, or JSON as in the declarations of OS 27. Also returns the repairs that were
/// needed.
package func readPropertyList(_ bytes: [UInt8]) throws(ImportFailure) -> (root: Property, warnings: [String]) {
  guard bytes.count <= ImportLimits.file else { throw ImportFailure("the file is larger than 16 MiB") }
  if bytes.starts(with: Array("bplist".utf8)) { return (try readBinaryPropertyList(bytes), []) }
  let text = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? Array(bytes.dropFirst(3)) : bytes
  guard let first = text.first(where: { ![9, 10, 13, 32].contains($0) }) else { throw ImportFailure("the file is empty") }
  if first == UInt8(ascii: "{") { return (try readJSON(text), []) }
  // UTF-16 has a byte order mark that expat knows.
  if text.starts(with: [0xfe, 0xff]) || text.starts(with: [0xff, 0xfe]) { return (try readXMLPropertyList(text), []) }
  let start = xmlStart(text)
  guard start > 0 else { return (try readXMLPropertyList(text), []) }
  let skipped = text[..<start]
  let lines = skipped.count { $0 == 10 }
  do throws(ImportFailure) {
    let root = moved(try readXMLPropertyList(Array(text[start...])), by: lines)
    let isBlank = skipped.allSatisfy { [9, 10, 13, 32].contains($0) }
    return (
      root,
      [
        "\(isBlank ? "blanks stand" : "something stands") before the XML declaration, which XML does not allow: skipped to line \(lines + 1)"
      ]
    )
  } catch {
    var failure = error
    failure.line = failure.line.map { $0 + lines }
    throw failure
  }
}

/// The start of XML behind other data: at its declaration, or else at its first element.
private func xmlStart(_ bytes: [UInt8]) -> Int {
  if bytes.starts(with: Array("<?xml".utf8)) { return 0 }
  for mark in ["<?xml", "<!DOCTYPE", "<plist"] {
    if let place = firstIndex(of: Array(mark.utf8), in: bytes) { return place }
  }
  return 0
}

private func firstIndex(of needle: [UInt8], in bytes: [UInt8]) -> Int? {
  guard let first = needle.first, bytes.count >= needle.count else { return nil }
  return bytes.indices.dropLast(needle.count - 1).first { bytes[$0] == first && bytes[$0..<($0 + needle.count)].elementsEqual(needle) }
}

private func moved(_ property: Property, by lines: Int) -> Property {
  var result = property
  result.line = property.line.map { $0 + lines }
  switch property.content {
  case .array(let items): result.content = .array(items.map { moved($0, by: lines) })
  case .dictionary(let entries): result.content = .dictionary(entries.map { Property.Entry($0.key, moved($0.value, by: lines)) })
  default: break
  }
  return result
}

private func readJSON(_ bytes: [UInt8]) throws(ImportFailure) -> Property {
  // jansson recurses to a depth of 2048; our own trees must not.
  var depth = 0
  var deepest = 0
  for byte in bytes {
    if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") { depth += 1 }
    if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") { depth -= 1 }
    deepest = max(deepest, depth)
  }
  guard deepest <= 4 * ImportLimits.depth else { throw ImportFailure("lists are nested more than \(ImportLimits.depth) deep") }
  let json: JSON
  do throws(JSONError) { json = try JSON(parsing: bytes) } catch {
    // The parser's own message quotes the text, which may be a secret.
    throw ImportFailure("this is not JSON", line: error.line)
  }
  var nodes = 0
  return try property(json, depth: 0, nodes: &nodes)
}

private func property(_ json: JSON, depth: Int, nodes: inout Int) throws(ImportFailure) -> Property {
  nodes += 1
  guard depth <= ImportLimits.depth else { throw ImportFailure("lists are nested more than \(ImportLimits.depth) deep") }
  guard nodes <= ImportLimits.nodes else { throw ImportFailure("there are more than \(ImportLimits.nodes) values") }
  switch json {
  case .null: throw ImportFailure("`null` stands where a value was expected", help: "leave the key out")
  case .bool(let value): return Property(.boolean(value))
  case .integer(let value): return Property(.integer(value))
  case .real(let value): return Property(.real(value))
  case .string(let text): return Property(.string(text))
  case .array(let values):
    var items: [Property] = []
    for value in values { items.append(try property(value, depth: depth + 1, nodes: &nodes)) }
    return Property(.array(items))
  case .object(let members):
    var entries: [Property.Entry] = []
    for member in members { entries.append(Property.Entry(member.key, try property(member.value, depth: depth + 1, nodes: &nodes))) }
    return Property(.dictionary(entries))
  }
}
