public import JSON
internal import NetworkTypes

/// The JSON of the values in messages, both ways. Each member is always present; `null` means no value.

extension Word { var json: JSON { .string(description) } }

extension JSON {
  init<Value: LosslessStringConvertible>(list values: [Value]) { self = .array(values.map { .string($0.description) }) }
  init<Value: LosslessStringConvertible>(text value: Value?) { self = value.map { .string($0.description) } ?? .null }
}

extension StartRequest {
  var members: [JSON.Member] {
    [
      .init(key: "options", value: options), .init(key: "network", value: NetworkPath.json(network)),
      .init(key: "may-ask", value: .bool(mayAsk)),
    ]
  }

  init(_ members: inout MemberReader) throws(MessageError) {
    self.init(
      options: try members.take("options", object), network: try members.optional("network", NetworkPath.read),
      mayAsk: try members.take("may-ask", flag))
  }
}

extension NetworkPath {
  static func json(_ path: NetworkPath?) -> JSON {
    guard let path else { return .null }
    return [
      "interface": .string(path.interface), "kind": .string(path.kind.rawValue), "metered": path.isMetered.map { .bool($0) } ?? .null,
      "addresses": JSON(list: path.addresses),
    ]
  }

  static func read(_ json: JSON, _ path: String) throws(MessageError) -> NetworkPath {
    var members = try MemberReader(json, at: path)
    let value = NetworkPath(
      interface: try members.take("interface", parsed(InterfaceName.self, "an interface's name")).description,
      kind: try members.take("kind", choice(Kind.self)), isMetered: try members.optional("metered", flag),
      addresses: try members.take("addresses", list(atMost: ProtocolLimits.addresses, interfaceAddress)))
    try members.finish()
    return value
  }
}

extension TunnelFailure {
  var members: [JSON.Member] {
    [
      .init(key: "code", value: code.json), .init(key: "text", value: .string(text)), .init(key: "help", value: .string(help.rawValue)),
      .init(key: "retry-after-ms", value: retryAfter.map { .integer(milliseconds($0)) } ?? .null),
    ]
  }

  init(_ members: inout MemberReader) throws(MessageError) {
    self.init(
      code: try members.take("code", word), text: try members.take("text", ProviderProtocol.text()),
      help: try members.take("help", choice(Help.self)),
      retryAfter: try members.optional("retry-after-ms", whole(0...Int(milliseconds(Self.longestRetry)))).map { .milliseconds($0) })
  }
}

extension RefusedSetting {
  var json: JSON { ["setting": setting.json, "value": .string(value), "code": code.json] }

  static func read(_ json: JSON, _ path: String) throws(MessageError) -> RefusedSetting {
    var members = try MemberReader(json, at: path)
    let value = RefusedSetting(
      setting: try members.take("setting", word), value: try members.take("value", text(atMost: 300)), code: try members.take("code", word))
    try members.finish()
    return value
  }
}

extension Question {
  var members: [JSON.Member] {
    [
      .init(key: "kind", value: .string(kind.rawValue)), .init(key: "prompt", value: .string(prompt)),
      .init(key: "url", value: JSON(text: url)),
    ]
  }

  init(_ members: inout MemberReader) throws(MessageError) {
    let kind = try members.take("kind", choice(Kind.self))
    self.init(kind: kind, prompt: try members.take("prompt", text()), url: try members.optional("url", webAddress))
    guard (kind == .url) == (url != nil) else {
      throw .invalid(member: "url", expected: kind == .url ? "a URL" : "null, because the kind is not `url`")
    }
  }
}

/// An `https` or `http` URL without blanks and control characters.
func webAddress(_ json: JSON, _ path: String) throws(MessageError) -> String {
  guard let text = json.string, text.utf8.count <= 2048, text.hasPrefix("https://") || text.hasPrefix("http://"),
    text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
  else { throw .invalid(member: path, expected: "an https or http URL of ASCII characters, 2,048 bytes at most") }
  return text
}

extension MessageContent {
  /// Reads the form that messages have, without limits on depth. Throws `MessageError` with the member that is wrong.
  public init(json: JSON) throws(MessageError) { self = try Self.read(json, "content") }

  /// The form that messages have: `{"type": …, "value": …}` or `{"bytes": BASE64}`.
  public var json: JSON {
    switch self {
    case .bytes(let bytes): ["bytes": .string(Base64.text(bytes))]
    case .typed(let type, let value): ["type": type.json, "value": value]
    }
  }

  static func read(_ json: JSON, _ path: String) throws(MessageError) -> MessageContent {
    var members = try MemberReader(json, at: path)
    if json["bytes"] != nil {
      let bytes = try members.take("bytes") { (json, path) throws(MessageError) -> [UInt8] in
        guard let text = json.string, let bytes = Base64.bytes(text), bytes.count <= ProtocolLimits.content else {
          throw .invalid(member: path, expected: "base64 of at most \(ProtocolLimits.content) bytes")
        }
        return bytes
      }
      try members.finish()
      return .bytes(bytes)
    }
    let type = try members.take("type", word)
    let value = try members.take("value") { (json, _) throws(MessageError) -> JSON in json }
    try members.finish()
    return .typed(type, value)
  }
}
