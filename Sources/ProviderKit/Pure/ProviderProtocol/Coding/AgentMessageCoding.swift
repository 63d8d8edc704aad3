internal import JSON
internal import NetworkTypes

extension AgentMessage {
  /// The message's bytes. Throws `tooLong` or `tooDeep`, by the content that programs put into it.
  public func encoded() throws(MessageError) -> [UInt8] {
    try messageBytes(.object([.init(key: "type", value: .string(type))] + members))
  }

  /// Reads a message. Any bytes give a message or an error.
  public init(decoding bytes: [UInt8]) throws(MessageError) {
    var (type, members) = try messageMembers(bytes)
    switch type {
    case "hello":
      self = .hello(
        version: try members.take("version", whole(1...65_535)), tunnel: try members.take("tunnel", text(atMost: ProtocolLimits.word)))
    case "credential": self = .credential(name: try members.take("name", word))
    case "start": self = .start(try StartRequest(&members))
    case "stop": self = .stop(try members.take("reason", choice(StopReason.self)))
    case "sleep": self = .sleep
    case "wake": self = .wake
    case "network": self = .network(try members.optional("network", NetworkPath.read))
    case "applied":
      self = .applied(
        id: try members.identifier(), refused: try members.take("refused", list(atMost: 2 * ProtocolLimits.routes, RefusedSetting.read)))
    case "refused":
      self = .refused(
        id: try members.identifier(), Refusal(code: try members.take("code", word), text: try members.take("text", text())))
    case "device":
      self = .device(
        id: try members.identifier(),
        interface: try members.take("interface", parsed(InterfaceName.self, "an interface's name")).description,
        mtu: try members.take("mtu", whole(576...ProtocolLimits.packet)))
    case "xfrm":
      let number = whole(1...Int(UInt32.max))
      self = .xfrm(
        id: try members.identifier(),
        XFRMLink(
          interface: try members.take("interface", parsed(InterfaceName.self, "an interface's name")).description,
          identifier: UInt32(try members.take("if-id", number)), mark: UInt32(try members.take("mark", number)),
          mask: UInt32(try members.take("mask", number))))
    case "socket": self = .socket(id: try members.identifier())
    case "addresses":
      self = .addresses(id: try members.identifier(), try members.take("addresses", list(atMost: 64, address)))
    case "answer": self = .answer(id: try members.identifier(), try members.take("outcome", choice(AnswerOutcome.self)))
    case "message": self = .message(id: try members.identifier(), try members.take("content", MessageContent.read))
    default: throw .unknownType(shortened(type))
    }
    try members.finish()
  }

  /// The type, as in the message.
  public var type: String {
    switch self {
    case .hello: "hello"
    case .credential: "credential"
    case .start: "start"
    case .stop: "stop"
    case .sleep: "sleep"
    case .wake: "wake"
    case .network: "network"
    case .applied: "applied"
    case .refused: "refused"
    case .device: "device"
    case .xfrm: "xfrm"
    case .socket: "socket"
    case .addresses: "addresses"
    case .answer: "answer"
    case .message: "message"
    }
  }

  private var members: [JSON.Member] {
    switch self {
    case .hello(let version, let tunnel):
      [.init(key: "version", value: .integer(Int64(version))), .init(key: "tunnel", value: .string(tunnel))]
    case .credential(let name): [.init(key: "name", value: name.json)]
    case .start(let request): request.members
    case .stop(let reason): [.init(key: "reason", value: .string(reason.rawValue))]
    case .sleep, .wake: []
    case .network(let path): [.init(key: "network", value: NetworkPath.json(path))]
    case .applied(let id, let refused): [member(id), .init(key: "refused", value: .array(refused.map(\.json)))]
    case .refused(let id, let refusal):
      [member(id), .init(key: "code", value: refusal.code.json), .init(key: "text", value: .string(refusal.text))]
    case .device(let id, let interface, let mtu):
      [member(id), .init(key: "interface", value: .string(interface)), .init(key: "mtu", value: .integer(Int64(mtu)))]
    case .xfrm(let id, let link):
      [
        member(id), .init(key: "interface", value: .string(link.interface)), .init(key: "if-id", value: .integer(Int64(link.identifier))),
        .init(key: "mark", value: .integer(Int64(link.mark))), .init(key: "mask", value: .integer(Int64(link.mask))),
      ]
    case .socket(let id): [member(id)]
    case .addresses(let id, let addresses): [member(id), .init(key: "addresses", value: JSON(list: addresses))]
    case .answer(let id, let outcome): [member(id), .init(key: "outcome", value: .string(outcome.rawValue))]
    case .message(let id, let content): [member(id), .init(key: "content", value: content.json)]
    }
  }
}

func member(_ id: UInt32) -> JSON.Member { .init(key: "id", value: .integer(Int64(id))) }
