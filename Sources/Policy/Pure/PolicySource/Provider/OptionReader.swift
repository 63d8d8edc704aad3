import JSON
import NetworkTypes
import RoamwardCore

/// Values of options by their schema, with errors at their places.
extension OptionSchema {
  /// The value with defaults filled in; `nil`, and reported, if it does not fit.
  func read(_ node: Node, as subject: String, _ reading: inout Reading) -> JSON? {
    switch kind {
    case .object(let properties, let allowsOthers): return readObject(node, properties, allowsOthers, as: subject, &reading)
    case .array(let item, let limit): return readList(node, item, limit, as: subject, &reading)
    case .string(let format, let lengths):
      guard let text = readText(node, format, &reading) else { return nil }
      guard lengths.contains(text.unicodeScalars.count) else {
        reading.error(
          "this text has \(text.unicodeScalars.count) characters; allowed are \(lengths.lowerBound) to \(lengths.upperBound)",
          at: node.location)
        return nil
      }
      return .string(text)
    case .integer(let range):
      guard let number = ValueReader.whole.read(node, &reading) else { return nil }
      guard range.contains(number) else {
        reading.expected("a number from \(range.lowerBound) to \(range.upperBound)", at: node)
        return nil
      }
      return .integer(number)
    case .number(let range):
      guard let number = ValueReader.real.read(node, &reading) else { return nil }
      guard range.contains(number) else {
        reading.expected("a number from \(range.lowerBound) to \(range.upperBound)", at: node)
        return nil
      }
      return .real(number)
    case .boolean: return ValueReader.boolean.read(node, &reading).map { .bool($0) }
    }
  }

  private func readObject(
    _ node: Node, _ properties: [Property], _ allowsOthers: Bool, as subject: String, _ reading: inout Reading
  ) -> JSON? {
    let entries: [Node.Entry]
    switch node.content {
    case .mapping(let found): entries = found
    case .null: entries = []
    case .scalar, .sequence, .refused:
      reading.expected("the keys of \(subject)", at: node)
      return nil
    }
    let names = properties.map(\.name)
    for entry in entries where !names.contains(entry.key) {
      if !allowsOthers || isSecretName(entry.key) { reportUnknown(entry, in: subject, known: names, planned: [], &reading) }
    }
    var members: [JSON.Member] = []
    for property in properties {
      if let entry = entries.first(where: { $0.key == property.name }) {
        if let value = property.schema.read(entry.value, as: "`\(property.name)`", &reading) {
          members.append(.init(key: property.name, value: value))
        }
      } else if let standard = property.schema.standard {
        members.append(.init(key: property.name, value: standard))
      } else if property.isRequired {
        reading.error("`\(property.name)` is missing in \(subject)", help: property.schema.about, at: node.location)
      }
    }
    if allowsOthers {
      members += entries.filter { !names.contains($0.key) }.map { .init(key: $0.key, value: JSON($0.value)) }
    }
    return .object(members)
  }

  private func readList(_ node: Node, _ item: OptionSchema, _ limit: Int, as subject: String, _ reading: inout Reading) -> JSON? {
    let nodes: [Node]
    switch node.content {
    case .sequence(let found): nodes = found
    case .null: nodes = []
    case .scalar, .mapping, .refused:
      reading.expected("a list", at: node)
      return nil
    }
    guard nodes.count <= limit else {
      reading.error("this list has \(nodes.count) entries; at most \(limit) are allowed", at: node.location)
      return nil
    }
    var values: [JSON] = []
    for node in nodes { if let value = item.read(node, as: "an entry of \(subject)", &reading) { values.append(value) } }
    return .array(values)
  }

  private func readText(_ node: Node, _ format: Format?, _ reading: inout Reading) -> String? {
    if let choices { return ValueReader.word(of: choices).read(node, &reading) }
    switch format {
    case .address: return ValueReader<IPAddress>.address.read(node, &reading)?.description
    case .prefix: return ValueReader<IPPrefix>.prefix.read(node, &reading)?.description
    case .interfaceAddress: return ValueReader<InterfaceAddress>.interfaceAddress.read(node, &reading)?.description
    case .domain: return ValueReader<DomainName>.domain.read(node, &reading)?.text
    case .endpoint: return ValueReader<Endpoint>("HOST:PORT, such as vpn.example:443") { Endpoint($0) }.read(node, &reading)?.description
    case .url: return ValueReader.webAddress.read(node, &reading)
    case nil:
      guard case .scalar(let text, _) = node.content else {
        reading.expected("a text", at: node)
        return nil
      }
      return text
    }
  }
}
