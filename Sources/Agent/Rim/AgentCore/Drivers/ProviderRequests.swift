internal import JSON
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// A provider's report to people and programs.
enum ProviderNews {
  case log(level: String, origin: String, text: String)
  case event(name: String, JSON)
  case question(number: Int, kind: String, prompt: String)
}

/// Requests of a provider that wait for the kernel or for a name server.
struct PendingRequests {
  /// They wait for the link.
  var devices: [UInt32] = []
  /// The last settings; they wait until they are in effect.
  var settings: UInt32?
  var lookups: [UInt32: Cancellation] = [:]

  /// The requests that wait for the link, which is as wanted now.
  mutating func take() -> (devices: [UInt32], settings: UInt32?) {
    defer { (devices, settings) = ([], nil) }
    return (devices, settings)
  }
}

/// A question of a provider that no person has answered yet.
struct OpenQuestion {
  /// The time for an answer: enough to find a phone.
  static let patience = Duration.seconds(300)

  let number: UInt32
  let question: Question
  let until: Moment
}

/// Messages of applications to a provider.
struct ProviderMessages {
  struct Waiting {
    let content: MessageContent
    let until: Moment
    let reply: (MessageReply) -> Void
  }

  private var waiting: [Waiting] = []
  private var sent: [UInt32: (at: Moment, reply: (MessageReply) -> Void)] = [:]

  /// Whether one waits for the provider's program.
  var isWaiting: Bool { !waiting.isEmpty }

  /// Whether one has no reply yet.
  var isOpen: Bool { !waiting.isEmpty || !sent.isEmpty }

  /// The moment until which the first one waits for the program.
  var nextDeadline: Moment? { waiting.map(\.until).min() }

  mutating func wait(_ content: MessageContent, at now: Moment, _ reply: @escaping (MessageReply) -> Void) {
    guard waiting.count < ProtocolLimits.requests else {
      return reply(.failure(Refusal(code: "busy", text: "\(waiting.count) messages wait for the provider already")))
    }
    waiting.append(Waiting(content: content, until: now + .seconds(5), reply: reply))
  }

  mutating func takeWaiting() -> [Waiting] {
    defer { waiting = [] }
    return waiting
  }

  mutating func sent(_ id: UInt32, at now: Moment, _ reply: @escaping (MessageReply) -> Void) { sent[id] = (now, reply) }

  /// Passes a reply on, and returns the round-trip time; `nil`: no message awaited it.
  mutating func replied(_ id: UInt32, at now: Moment, _ reply: MessageReply) -> Duration? {
    guard let message = sent.removeValue(forKey: id) else { return nil }
    message.reply(reply)
    return now - message.at
  }

  /// Answers those that have waited too long.
  mutating func expire(at now: Moment, of tunnel: String) {
    let late = waiting.filter { $0.until <= now }
    waiting.removeAll { $0.until <= now }
    for one in late {
      one.reply(.failure(Refusal(code: "timeout", text: "the provider of \(tunnel) is not ready for messages; see `roamward status`")))
    }
  }

  mutating func fail(_ refusal: Refusal) { for one in takeWaiting() { one.reply(.failure(refusal)) } }
}

extension NetworkPath {
  init(_ link: LinkFacts) {
    let kind: Kind =
      switch link.type.value {
      case .ethernet, .usbTether, .bridge: .ethernet
      case .wifi: .wifi
      case .cellular: .cellular
      case .bluetooth, .virtual, .other, nil: .other
      }
    self.init(interface: link.name, kind: kind, isMetered: link.metered.value, addresses: Array(link.addresses.prefix(16)))
  }
}

extension StopReason {
  /// The reason for a stop, by the cause that the agent gives for the tunnel's state.
  init(_ cause: ReasonCode) {
    self =
      switch cause {
      case .manualOverride: .person
      case .ruleMatched, .noRule, .lookup, .overrideEnded, .onDemandOff: .rule
      case .noNetwork: .noNetwork
      case .networkChanged: .networkChanged
      case .disabled: .disabled
      case .excluded: .superseded
      case .policyRemoved: .policyRemoved
      case .policyLoaded: .policyChanged
      case .stopping: .shutdown
      case .sleep: .sleep
      case .startTimeout, .peerTimeout: .timeout
      case .stepFailed, .applyTimeout, .linkTaken: .settingsFailed
      case .providerFailed, .actionNeeded, .linkGone, .overlapRefused, .markUnavailable: .failed
      default: .none
      }
  }
}

extension RoamwardCore.TunnelFailure {
  /// The failure that a provider has reported. Where a person can help, the text names the command that tries again under the tunnel's own
  /// rules: `roamward up` would leave a manual override.
  init(_ failure: ProviderProtocol.TunnelFailure, of tunnel: String) {
    let retry: Retry =
      switch failure.help {
      case .time: failure.retryAfter.map { .notBefore($0) } ?? .backoff
      case .person, .nobody: .onRequest
      }
    let isNamed = failure.help != .person || failure.text.contains("`roamward answer")
    let text = failure.text + (isNamed ? "" : "; `roamward answer \(tunnel)` tries again")
    self.init(failure.help == .time ? .providerFailed : .actionNeeded, "\(text) (\(failure.code))", retry: retry)
  }
}
