internal import JSON
internal import NetworkTypes

extension ProviderMessage {
  /// The message's bytes. Throws `tooLong` or `tooDeep`, by the content that the provider puts into it.
  public func encoded() throws(MessageError) -> [UInt8] {
    try messageBytes(.object([.init(key: "type", value: .string(type))] + members))
  }

  /// Reads a message. Any bytes give a message or an error.
  public init(decoding bytes: [UInt8]) throws(MessageError) {
    var (type, members) = try messageMembers(bytes)
    switch type {
    case "hello":
      self = .hello(versions: try members.take("versions", versions), program: try members.take("program", text(atMost: 256)))
    case "settings": self = .settings(id: try members.identifier(), try TunnelSettings(&members))
    case "ready": self = .ready
    case "reasserting": self = .reasserting(code: try members.take("code", word), text: try members.take("text", text()))
    case "failed": self = .failed(try TunnelFailure(&members))
    case "stopped": self = .stopped
    case "asleep": self = .asleep
    case "ask": self = .ask(id: try members.identifier(), try Question(&members))
    case "withdraw": self = .withdraw(id: try members.identifier())
    case "open-device": self = .openDevice(id: try members.identifier())
    case "open-xfrm": self = .openXFRM(id: try members.identifier())
    case "open-socket":
      self = .openSocket(
        id: try members.identifier(), try members.take("transport", choice(Transport.self)), try members.take("remote", remote))
    case "resolve": self = .resolve(id: try members.identifier(), try members.take("name", domain))
    case "reply": self = .reply(id: try members.identifier(), try members.take("result", readReply))
    case "keep": self = .keep(try members.take("content", kept))
    case "transport": self = .transport(text: try members.take("text", text(atMost: 512)))
    case "validity":
      let name = try members.take("name", text(atMost: 256))
      let moment = whole(0...Int(Validity.latest))
      let start = try members.optional("from", moment)
      self = .validity(Validity(name, from: start.map(Int64.init), until: Int64(try members.take("until", moment))))
    case "event":
      self = .event(
        name: try members.take("name", word), data: try members.take("data") { (json, _) throws(MessageError) -> JSON in json })
    case "log":
      self = .log(
        LogLine(
          level: try members.take("level", choice(LogLine.Level.self)), origin: try members.take("origin", word),
          text: try members.take("text", text())))
    default: throw .unknownType(shortened(type))
    }
    try members.finish()
  }

  /// The type, as in the message.
  public var type: String {
    switch self {
    case .hello: "hello"
    case .settings: "settings"
    case .ready: "ready"
    case .reasserting: "reasserting"
    case .failed: "failed"
    case .stopped: "stopped"
    case .asleep: "asleep"
    case .ask: "ask"
    case .withdraw: "withdraw"
    case .openDevice: "open-device"
    case .openXFRM: "open-xfrm"
    case .openSocket: "open-socket"
    case .resolve: "resolve"
    case .reply: "reply"
    case .keep: "keep"
    case .transport: "transport"
    case .validity: "validity"
    case .event: "event"
    case .log: "log"
    }
  }

  private var members: [JSON.Member] {
    switch self {
    case .hello(let versions, let program):
      [
        .init(key: "versions", value: [.integer(Int64(versions.lowerBound)), .integer(Int64(versions.upperBound))]),
        .init(key: "program", value: .string(program)),
      ]
    case .settings(let id, let settings): [member(id)] + settings.members
    case .ready, .stopped, .asleep: []
    case .reasserting(let code, let text): [.init(key: "code", value: code.json), .init(key: "text", value: .string(text))]
    case .failed(let failure): failure.members
    case .ask(let id, let question): [member(id)] + question.members
    case .withdraw(let id), .openDevice(let id), .openXFRM(let id): [member(id)]
    case .openSocket(let id, let transport, let remote):
      [
        member(id), .init(key: "transport", value: .string(transport.rawValue)), .init(key: "remote", value: .string(remote.description)),
      ]
    case .resolve(let id, let name): [member(id), .init(key: "name", value: .string(name.text))]
    case .reply(let id, let result): [member(id), .init(key: "result", value: json(of: result))]
    case .keep(let bytes): [.init(key: "content", value: .string(Base64.text(bytes)))]
    case .transport(let text): [.init(key: "text", value: .string(text))]
    case .validity(let validity):
      [
        .init(key: "name", value: .string(validity.name)), .init(key: "from", value: validity.start.map { .integer($0) } ?? .null),
        .init(key: "until", value: .integer(validity.end)),
      ]
    case .event(let name, let data): [.init(key: "name", value: name.json), .init(key: "data", value: data)]
    case .log(let line):
      [
        .init(key: "level", value: .string(line.level.rawValue)), .init(key: "origin", value: line.origin.json),
        .init(key: "text", value: .string(line.text)),
      ]
    }
  }
}

private func kept(_ json: JSON, _ path: String) throws(MessageError) -> [UInt8] {
  guard let text = json.string, let bytes = Base64.bytes(text), bytes.count <= ProtocolLimits.kept else {
    throw .invalid(member: path, expected: "base64 of at most \(ProtocolLimits.kept) bytes")
  }
  return bytes
}

private func versions(_ json: JSON, _ path: String) throws(MessageError) -> ClosedRange<Int> {
  let ends = try list(atMost: 2, whole(1...65_535))(json, path)
  guard ends.count == 2, ends[0] <= ends[1] else { throw .invalid(member: path, expected: "the lowest and the highest version") }
  return ends[0]...ends[1]
}

/// An address and a port: names are resolved by `resolve` first.
private func remote(_ json: JSON, _ path: String) throws(MessageError) -> Endpoint {
  let endpoint = try endpoint(json, path)
  guard endpoint.address != nil else { throw .invalid(member: path, expected: "ADDRESS:PORT; a name is resolved by `resolve`") }
  return endpoint
}

private func json(of reply: MessageReply) -> JSON {
  switch reply {
  case .success(let content): ["content": content?.json ?? .null]
  case .failure(let refusal): ["code": refusal.code.json, "text": .string(refusal.text)]
  }
}

private func readReply(_ json: JSON, _ path: String) throws(MessageError) -> MessageReply {
  var members = try MemberReader(json, at: path)
  let result: MessageReply
  if json["content"] != nil {
    result = .success(try members.optional("content", MessageContent.read))
  } else {
    result = .failure(Refusal(code: try members.take("code", word), text: try members.take("text", text())))
  }
  try members.finish()
  return result
}
