internal import JSON
internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardProvider

/// Questions about packets that the gateway has not answered yet.
struct PacketQuestions {
  struct Waiting {
    let question: PacketQuestion
    let reply: (MessageReply) -> Void
    var timer: ProviderTimer?
    var sent = 0
  }

  var waiting: [UInt64: Waiting] = [:]

  /// More wait for none: an application asks one after another.
  static let limit = 8
  /// Datagrams may be lost. The agent waits 5 s for a provider's reply.
  static let sendings = 3
  static let pause = Duration.milliseconds(650)
  static let patience = "2 s"
}

// The evaluation of a packet at the gateway (docs/decisions/0067-both-ends-of-a-tunnel-explain-what-happens-to-a-packet.md).
extension GatewayClient {
  func explain(_ value: JSON, _ reply: @escaping (MessageReply) -> Void) {
    func fail(_ code: Word, _ text: String) { reply(.failure(Refusal(code: code, text: text))) }
    guard let destination = value["address"]?.string.flatMap({ IPAddress($0) }),
      let transport = ["tcp": 6, "udp": 17, "icmp": 1][value["protocol"]?.string ?? "icmp"] as UInt8?,
      let port = UInt16(exactly: value["port"]?.integer ?? 0)
    else { return fail("bad-value", "`explain` takes address, protocol (tcp, udp, icmp) and port") }
    guard isReady, !isReasserting else { return fail("not-connected", "the gateway cannot be asked: the tunnel is not connected") }
    guard let grant = live.inForce, let own = grant.addresses.first,
      let gateway = grant.gatewayAddresses.first(where: { $0.family == own.family })
    else { return fail("unknown-gateway", "the gateway has not said where it takes questions; update it") }
    guard questions.waiting.count < PacketQuestions.limit else { return fail("busy", "too many questions wait for the gateway") }
    let question = PacketQuestion(number: .random(in: 0 ... .max), to: destination, transport: transport, port: port)
    questions.waiting[question.number] = .init(question: question, reply: reply)
    send(question.number, to: gateway)
  }

  private func send(_ number: UInt64, to gateway: IPAddress) {
    guard var waiting = questions.waiting[number] else { return }
    guard waiting.sent < PacketQuestions.sendings, let memory, let grant = live.inForce,
      let datagram = waiting.question.datagram({ memory.key.seal($0, of: grant.gatewayKey, PacketQuestion.label) })
    else {
      questions.waiting[number] = nil
      let text = "the gateway did not answer within \(PacketQuestions.patience); an older one does not know this question"
      return waiting.reply(.failure(Refusal(code: "no-answer", text: text)))
    }
    waiting.sent += 1
    waiting.timer = host.after(PacketQuestions.pause) { [weak self] in self?.send(number, to: gateway) }
    questions.waiting[number] = waiting
    engine.send(datagram, to: gateway)
  }

  func takeAnswer(_ datagram: [UInt8]) {
    guard !questions.waiting.isEmpty, let memory, let grant = live.inForce,
      let answer = PacketAnswer(datagram, { memory.key.seal($0, of: grant.gatewayKey, PacketAnswer.label) }),
      let waiting = questions.waiting.removeValue(forKey: answer.number)
    else { return }
    waiting.timer?.cancel()
    waiting.reply(.success(.typed("explain", ["steps": .array(answer.steps(to: waiting.question.destination))])))
  }

  /// At the end of a run: nothing is answered any more.
  func endQuestions() {
    let all = questions.waiting.values
    questions.waiting = [:]
    for waiting in all {
      waiting.timer?.cancel()
      waiting.reply(.failure(Refusal(code: "not-connected", text: "the tunnel has ended")))
    }
  }
}

extension PacketAnswer {
  /// The steps of the packet's way at the gateway, as docs/provider-protocol.md describes them.
  func steps(to destination: IPAddress) -> [JSON] {
    var steps: [JSON] = []
    func add(_ place: String, _ verdict: String, _ text: String) {
      steps.append(["place": .string(place), "verdict": .string(verdict), "text": .string(text)])
    }
    let decider = rule.map { "rule \($0)" }
    let denied = decider.map { "denied by \($0)" } ?? "denied: no rule allows it"
    switch stop {
    case .routes: add("gateway settings", "stop", "the routes that the gateway gives this device do not contain \(destination)")
    case .address: add("gateway address", "stop", "this device has no address of this family there")
    case .user: add("gateway user", "stop", "the user may not connect")
    case .access: add("gateway access", "stop", denied)
    default: add("gateway access", "pass", decider.map { "allowed by \($0)" } ?? "allowed")
    }
    switch stop {
    case .device: add("gateway device", "stop", "no device has \(destination)")
    case .forwarding: add("gateway forwarding", "stop", "the gateway's machine forwards no packets of this family")
    case .route: add("gateway route", "stop", "the gateway's machine has no working route to \(destination)")
    case .other: add("gateway", "stop", "the gateway stops it for a reason that this version does not know; update this client")
    case nil:
      let way = link.map { link in nextHop.map { "by \($0) on \(link)" } ?? "on \(link)" } ?? "to the gateway itself"
      add("gateway route", "pass", way + (isTranslated ? ", with the gateway's own address (masquerade)" : ""))
    default: break
    }
    return steps
  }
}
