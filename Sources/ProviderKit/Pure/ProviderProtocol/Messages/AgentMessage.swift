public import JSON
public import NetworkTypes

/// A message from the agent to a provider. docs/provider-protocol.md has each, byte for byte.
public enum AgentMessage: Hashable, Sendable {
  /// The answer to the provider's `hello`: the version of all further messages, and the tunnel's name.
  case hello(version: Int, tunnel: String)
  /// A credential of the next start; a readable descriptor is attached.
  case credential(name: Word)
  /// Starts the tunnel.
  case start(StartRequest)
  /// Stops the tunnel. Answered by `stopped`.
  case stop(StopReason)
  /// The machine goes to sleep. Answered by `asleep`.
  case sleep
  /// The machine is awake again.
  case wake
  /// The network below the tunnel is another one; `nil`: there is none.
  case network(NetworkPath?)
  /// Settings are applied, except for those that are listed.
  case applied(id: UInt32, refused: [RefusedSetting])
  /// A request is refused.
  case refused(id: UInt32, Refusal)
  /// The TUN device; its descriptor is attached.
  case device(id: UInt32, interface: String, mtu: Int)
  /// The XFRM interface, whose packets are those of IPsec with its identifier.
  case xfrm(id: UInt32, XFRMLink)
  /// A connected socket outside of the tunnel; its descriptor is attached.
  case socket(id: UInt32)
  /// The addresses of a name, outside of the tunnel.
  case addresses(id: UInt32, [IPAddress])
  /// The outcome of a question. A secret is attached as a readable descriptor.
  case answer(id: UInt32, AnswerOutcome)
  /// An application's message. Answered by `reply`.
  case message(id: UInt32, MessageContent)
}

/// A message from a provider to the agent.
public enum ProviderMessage: Hashable, Sendable {
  /// The first message: the versions that the provider speaks, and its own name and version for the log.
  case hello(versions: ClosedRange<Int>, program: String)
  /// Asks for the tunnel's settings. Answered by `applied` or `refused`. The last ones replace all others.
  case settings(id: UInt32, TunnelSettings)
  /// The tunnel carries packets.
  case ready
  /// The tunnel carries none for now, and the provider works on it; `ready` ends it.
  case reasserting(code: Word, text: String)
  /// The tunnel has failed, and is down.
  case failed(TunnelFailure)
  /// The answer to `stop`.
  case stopped
  /// The answer to `sleep`.
  case asleep
  /// Asks a person. Answered by `answer`.
  case ask(id: UInt32, Question)
  /// Takes a question back.
  case withdraw(id: UInt32)
  /// Asks for the TUN device. Answered by `device` or `refused`.
  case openDevice(id: UInt32)
  /// Asks for the XFRM interface instead of a TUN device. Answered by `xfrm` or `refused`.
  case openXFRM(id: UInt32)
  /// Asks for a socket outside of the tunnel, connected to an address. Answered by `socket` or `refused`.
  case openSocket(id: UInt32, Transport, Endpoint)
  /// Asks for the addresses of a name, outside of the tunnel. Answered by `addresses` or `refused`.
  case resolve(id: UInt32, DomainName)
  /// The answer to an application's message.
  case reply(id: UInt32, MessageReply)
  /// Keeps these bytes for later starts of this tunnel, which bring them as the credential `kept`. None: what was kept is forgotten.
  case keep([UInt8])
  /// The present transport of the tunnel's packets, for people; empty: nothing to say. It belongs to the run.
  case transport(text: String)
  /// From when to when something of the person's is valid that the server wants, such as a certificate. It belongs to the run.
  case validity(Validity)
  /// Something that the provider's applications want to know.
  case event(name: Word, data: JSON)
  /// A line of the provider's log.
  case log(LogLine)
}
