/// One GET request to be sent from the underlay.
package struct ProbeRequest: Equatable, Sendable {
  package var url: String
  /// Accepted digests of the server's public key. With any, only the key is checked, and nothing else in the certificate.
  package var pins: [String]
  /// The time limit, from the look-up of the name to the end of the answer.
  package var timeout: Duration
  /// The expected media type, as the `Accept` header names it.
  package var accept: String?
  /// The number of body bytes to read. With 0 the answer ends with its headers; further bytes are never read.
  package var bodyLimit: Int

  package init(url: String, pins: [String] = [], timeout: Duration = .seconds(5), accept: String? = nil, bodyLimit: Int = 0) {
    self.url = url
    self.pins = pins
    self.timeout = timeout
    self.accept = accept
    self.bodyLimit = bodyLimit
  }
}

/// The result of a request.
package enum ProbeReply: Hashable, Sendable {
  /// A response, with the beginning of the body if `bodyLimit` asks for it.
  case response(status: Int, body: [UInt8] = [])
  /// The answer of a captive portal's API (RFC 8908 section 5).
  case portal(isCaptive: Bool)
  /// An answer from a server that could not prove its identity.
  case impostor(reason: String)
  /// No answer in time, or none at all.
  case unanswered(reason: String)
  /// The request could not be sent from this machine, which says nothing about the network.
  case unsent(reason: String)
}

/// The administrator's own internet check: a URL of plain http (a portal cannot intercept https) with a known answer.
package struct ConnectivityCheck: Hashable, Sendable {
  package static let bodyLimit = 1024

  package var url: String
  /// The required beginning of the body of a 200; `nil`: the answer has to be a 204, which has no body.
  package var content: String?

  package init(url: String, content: String? = nil) {
    self.url = url
    self.content = content
  }
}
