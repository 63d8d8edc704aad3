internal import JSON
internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardProvider

/// Questions about packets that wait for the gateway's answer: its evaluation of a packet
/// (docs/decisions/0067-both-ends-of-a-tunnel-explain-what-happens-to-a-packet.md).
final class PacketQuestions {
  private struct Waiting {
    let question: PacketQuestion
    let reply: (MessageReply) -> Void
    var timer: ProviderTimer?
    var sent = 0
  }

  /// The gateway that is asked: its settings, and the device's key.
  typealias Asked = (grant: LoginGrant, key: DeviceKey)

  private let host: ProviderHost
  private let send: (_ datagram: [UInt8], _ gateway: IPAddress) -> Void
  private var waiting: [UInt64: Waiting] = [:]
  /// `nil`: there is no gateway to ask.
  var asked: () -> Asked? = { nil }

  /// More wait for none: an application asks one after another.
  private static let limit = 8
  /// Datagrams may be lost. The agent waits 5 s for a provider's reply.
  private static let sendings = 3
  private static let pause = Duration.milliseconds(650)
  private static let patience = "2 s"

  init(_ host: ProviderHost, send: @escaping (_ datagram: [UInt8], _ gateway: IPAddress) -> Void) {
    self.host = host
    self.send = send
  }

  func explain(_ value: JSON, isConnected: Bool, _ reply: @escaping (MessageReply) -> Void) {
    func fail(_ code: Word, _ text: String) { reply(.failure(Refusal(code: code, text: text))) }
    guard let destination = value["address"]?.string.flatMap({ IPAddress($0) }),
      let transport = ["tcp": 6, "udp": 17, "icmp": 1][value["protocol"]?.string ?? "icmp"] as UInt8?,
      let port = UInt16(exactly: value["port"]?.integer ?? 0)
    else { return fail("bad-value", "`explain` takes address, protocol (tcp, udp, icmp) and port") }
    guard isConnected else { return fail("not-connected", "the gateway cannot be asked: the tunnel is not connected") }
    guard let gateway = asked()?.grant.gatewayAddress else {
      return fail("unknown-gateway", "the gateway has not said where it takes questions; update it")
    }
    guard waiting.count < Self.limit else { return fail("busy", "too many questions wait for the gateway") }
    let question = PacketQuestion(number: .random(in: 0 ... .max), to: destination, transport: transport, port: port)
    waiting[question.number] = Waiting(question: question, reply: reply)
    ask(question.number, gateway)
  }

  private func ask(_ number: UInt64, _ gateway: IPAddress) {
    guard var waiting = waiting[number] else { return }
    guard waiting.sent < Self.sendings, let (grant, key) = asked(),
      let datagram = waiting.question.datagram({ key.seal($0, of: grant.gatewayKey, PacketQuestion.label) })
    else {
      self.waiting[number] = nil
      let text = "the gateway did not answer within \(Self.patience); an older one does not know this question"
      return waiting.reply(.failure(Refusal(code: "no-answer", text: text)))
    }
    waiting.sent += 1
    waiting.timer = host.after(Self.pause) { [weak self] in self?.ask(number, gateway) }
    self.waiting[number] = waiting
    send(datagram, gateway)
  }

  func take(_ datagram: [UInt8]) {
    guard !waiting.isEmpty, let (grant, key) = asked(),
      let answer = PacketAnswer(datagram, { key.seal($0, of: grant.gatewayKey, PacketAnswer.label) }),
      let waiting = waiting.removeValue(forKey: answer.number)
    else { return }
    waiting.timer?.cancel()
    waiting.reply(.success(.typed("explain", ["steps": .array(answer.steps(to: waiting.question.destination))])))
  }

  /// At the end of a run: nothing is answered any more.
  func end() {
    let all = waiting.values
    waiting = [:]
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
