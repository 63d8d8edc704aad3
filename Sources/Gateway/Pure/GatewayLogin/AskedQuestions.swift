/// The open questions of `roamward-gateway-auth` to the gateway. Strangers begin logins faster than both processes work. So the number of
/// open checks of passwords and tokens is bounded. The gateway is told of the end of a conversation only if it knows the conversation.
package struct AskedQuestions: Sendable {
  /// The most checks without an answer.
  package static let limit = 64

  private var unanswered: Set<UInt32> = []
  private var known: Set<UInt32> = []
  private var ends: [UInt32] = []

  package init() {}

  /// Whether a request may be sent.
  package mutating func begin(_ request: AuthRequest) -> Bool {
    guard let number = request.number else { return true }
    switch request {
    // The gateway answers each of these at once.
    case .credential, .token:
      guard unanswered.count < Self.limit else { return false }
      unanswered.insert(number)
    default: break
    }
    known.insert(number)
    return true
  }

  /// The gateway has answered, or never got the question.
  package mutating func answered(_ number: UInt32) { unanswered.remove(number) }

  /// The conversation has ended.
  package mutating func end(_ number: UInt32) {
    if known.remove(number) != nil { ends.append(number) }
  }

  /// The end that the gateway has to hear of next.
  package var nextEnd: UInt32? { ends.first }
  package mutating func endIsTold() { ends.removeFirst() }
}

extension AuthRequest {
  /// The conversation that waits for an answer.
  package var number: UInt32? {
    switch self {
    case .credential(let number, _), .token(let number, _), .code(let number, _), .setPassword(let number, _),
      .bind(let number, _, _, _, _), .signIn(let number, _), .password(let number, _, _), .promptAnswer(let number, _),
      .decoy(let number, _):
      number
    case .hello, .record, .ended: nil
    }
  }
}

extension AuthReply {
  /// The conversation that it answers.
  package var number: UInt32? {
    switch self {
    case .remote(let number), .credential(let number, _, _, _), .answer(let number, _): number
    case .start, .listener, .offer: nil
    }
  }
}
