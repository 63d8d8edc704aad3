internal import NetworkTypes

/// A question under way to the servers of a group, for all clients that ask it.
struct ForwardedQuery: Sendable {
  /// A datagram that was sent, and whose answer is accepted.
  struct Attempt: Equatable, Sendable {
    var socket: UInt16 = 0
    var id: UInt16 = 0
    var server = Upstream(.unspecified(.v4), port: 0)
  }

  /// One that waits for the tunnel of `trigger` if the group does not know the name (`connect-if-needed`).
  struct Purpose: Equatable, Sendable {
    var group: Int
    var fallback: Int?
    /// The server to ask instead of those of the group: the one that the program asked.
    var server: Upstream?
    /// A question of our own, for a random name (`RedirectCheck`).
    var isCheck = false
  }

  static let mostAttempts = 4
  /// Clients that wait for one answer.
  static let mostAskers = 64

  private(set) var isOpen = true
  var purpose: Purpose
  var key: QuestionKey
  /// The first one, which is sent.
  var asker: Question
  /// Those that were asked while it was open.
  var others: [Question] = []
  var started: Moment
  var share = QuestionShares.Place()
  private(set) var attempts = InlineArray<4, Attempt>(repeating: Attempt())
  private(set) var sent = 0
  /// The place in the group's list of the server that is asked next.
  var nextServer: Int
  /// The server did not understand EDNS: it is asked without.
  var isPlain = false
  /// Every response so far was a failure; the last one.
  var failure: PreparedAnswer?
  var failures = 0
  /// The connection on which it is asked again.
  var stream: UInt32?
  /// The answer that was truncated, prepared for clients.
  var truncatedAnswer: PreparedAnswer?
  /// The last datagram could not be sent.
  var isUndelivered = false

  init(_ question: Question, _ key: QuestionKey, _ purpose: Purpose, from server: Int) {
    self.purpose = purpose
    self.key = key
    asker = question
    started = question.arrival
    nextServer = server
  }

  /// An unused place of a list.
  static let none: ForwardedQuery = {
    var none = ForwardedQuery(
      Question(ofOurOwn: [], at: Moment(nanoseconds: 0)), QuestionKey(hash: 0, variant: 0), Purpose(group: 0), from: 0)
    none.isOpen = false
    return none
  }()

  var askerCount: Int { 1 + others.count }

  /// The name that is asked for.
  var nameText: String { asker.nameText }

  func forEachAsker(_ body: (Question) -> Void) {
    body(asker)
    for other in others { body(other) }
  }

  mutating func record(_ attempt: Attempt) {
    attempts[sent] = attempt
    sent += 1
  }

  /// Whether an attempt went from this socket with this ID to this server.
  func expects(_ attempt: Attempt) -> Bool {
    for i in 0..<sent where attempts[i] == attempt { return true }
    return false
  }

  /// Whether one answer serves this question too.
  func isFor(_ question: Question, _ key: QuestionKey, _ purpose: Purpose) -> Bool {
    let asked = asker.wire
    return self.purpose == purpose && self.key == key && asked.count == question.wire.count
      && asked.span.isEqualIgnoringCase(0..<asked.count, question.wire.span, from: 0)
  }

  /// Whether an answer is to this question: QNAME without regard to case, QTYPE and QCLASS.
  func isAnswered(by message: Span<UInt8>, _ outline: AnswerOutline) -> Bool {
    let wire = asker.wire
    return wire.count == outline.range.count && message.isEqualIgnoringCase(outline.range, wire.span, from: 0)
  }

  /// The message for a server.
  static func append(_ question: Question, isPlain: Bool, to bytes: inout [UInt8], id: UInt16) {
    bytes.append(word16: id)
    bytes.append(word16: question.flags)
    bytes.append(word16: 1)
    bytes.append(word32: 0)
    // Options concern one hop (RFC 6891 section 6.2.6): none is passed on.
    let edns = isPlain ? nil : question.edns
    bytes.append(word16: edns == nil ? 0 : 1)
    bytes.append(contentsOf: question.wire)
    if let edns { EDNS.append(to: &bytes, wantsSignatures: edns.wantsSignatures) }
  }
}
