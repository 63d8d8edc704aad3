/// Counts since the start of the program.
package struct NameServerCounters: Equatable, Sendable, Codable {
  /// Messages of clients, and those of them that were no valid question.
  package var questions: UInt64 = 0
  package var malformedQuestions: UInt64 = 0
  /// Responses to clients. A response without a question gets none.
  package var responses: UInt64 = 0
  /// Responses from the cache.
  package var cached: UInt64 = 0
  /// Datagrams to name servers, repetitions included, and questions to them over TCP.
  package var sent: UInt64 = 0
  package var streams: UInt64 = 0
  /// Questions that joined an identical one.
  package var joined: UInt64 = 0
  /// Answers of name servers that were taken.
  package var answers: UInt64 = 0
  /// Datagrams at sockets for name servers that are not the answer to an open question: of another address, port, ID or question, or late.
  package var strayAnswers: UInt64 = 0
  /// Datagrams there that are no valid response.
  package var malformedAnswers: UInt64 = 0
  /// Answers withheld because their addresses belong inside a tunnel.
  package var blocked: UInt64 = 0
  /// Questions that waited for a tunnel; those whose time ended before it was connected; those that made room for others.
  package var held: UInt64 = 0
  package var expired: UInt64 = 0
  package var evicted: UInt64 = 0
  /// Questions that were refused at once: their tunnel is down, or its start has just failed.
  package var refused: UInt64 = 0
  /// Questions that were answered by a failure because too many were open.
  package var overflowed: UInt64 = 0
  /// Responses without an answer: no server answered in time.
  package var unanswered: UInt64 = 0

  package init() {}
}
