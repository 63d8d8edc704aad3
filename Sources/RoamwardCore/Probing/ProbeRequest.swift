/// One GET request to be sent from the underlay.
package struct ProbeRequest: Hashable, Sendable {
  package var url: String
  /// Where there are any, the server's key has to be one of these, and nothing else is asked of its certificate.
  package var pins: [String]
  /// From the look-up of the name to the end of the answer.
  package var timeout: Duration
  /// What the answer should be, as an `Accept` header says it.
  package var accept: String?
  /// Bytes of the body that are wanted. With none the answer ends with its headers; what comes beyond is never read.
  package var bodyLimit: Int

  package init(url: String, pins: [String] = [], timeout: Duration = .seconds(5), accept: String? = nil, bodyLimit: Int = 0) {
    self.url = url
    self.pins = pins
    self.timeout = timeout
    self.accept = accept
    self.bodyLimit = bodyLimit
  }
}

/// What became of a request.
package enum ProbeReply: Hashable, Sendable {
  /// With the beginning of the body, where it was wanted.
  case response(status: Int, body: [UInt8] = [])
  /// The answer of a captive portal's API (RFC 8908 section 5).
  case portal(isCaptive: Bool)
  /// Somebody answered who could not prove to be the one that was asked.
  case impostor(reason: String)
  /// Nobody answered in time, or at all.
  case unanswered(reason: String)
  /// This machine could not send it, which says nothing about the network.
  case unsent(reason: String)
}

/// The administrator's own way to see whether there is internet: a URL of plain http (a portal cannot step
/// into https) whose answer is known.
package struct ConnectivityCheck: Hashable, Sendable {
  package static let bodyLimit = 1024

  package var url: String
  /// How the body of a 200 has to begin; `nil`: the answer has to be a 204, which has none.
  package var content: String?

  package init(url: String, content: String? = nil) {
    self.url = url
    self.content = content
  }
}
