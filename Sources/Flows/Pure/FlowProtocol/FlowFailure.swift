/// The reason why a proxy opens no flow, with its codes in both dialects.
package enum FlowFailure: Error, Hashable, Sendable, CaseIterable {
  /// An internal error, or too little memory.
  case general
  /// A firewall forbids it (a kill switch, for example), or the proxy does: an address of this machine's loopback.
  case forbidden
  case networkUnreachable
  case hostUnreachable
  /// The name has no address.
  case noSuchHost
  case refused
  case timedOut
  /// A command other than CONNECT and UDP ASSOCIATE, or a method other than CONNECT.
  case unsupportedCommand
  /// An address of an unknown type.
  case unsupportedAddress
  /// The proxy has as many flows as it can have.
  case crowded
  /// The proxy's sockets have no route of their own, and it opens none without one.
  case unrouted
  /// The client's bytes are no request.
  case malformed
  /// The client's request has more bytes than one may have.
  case tooLong

  /// REP of RFC 1928 section 6.
  package var reply: UInt8 {
    switch self {
    case .general, .crowded, .malformed, .tooLong: 1
    case .forbidden, .unrouted: 2
    case .networkUnreachable: 3
    case .hostUnreachable, .noSuchHost: 4
    case .refused: 5
    case .timedOut: 6
    case .unsupportedCommand: 7
    case .unsupportedAddress: 8
    }
  }

  /// The status of an answer to CONNECT (RFC 9110 section 15).
  package var status: String {
    switch self {
    case .general: "500 Internal Server Error"
    case .forbidden, .unrouted: "403 Forbidden"
    case .networkUnreachable, .hostUnreachable, .noSuchHost, .refused: "502 Bad Gateway"
    case .timedOut: "504 Gateway Timeout"
    case .unsupportedCommand: "405 Method Not Allowed"
    case .unsupportedAddress, .malformed: "400 Bad Request"
    case .crowded: "503 Service Unavailable"
    case .tooLong: "431 Request Header Fields Too Large"
    }
  }

  /// The error type of a `Proxy-Status` field (RFC 9209 section 2.3).
  var statusType: String {
    switch self {
    case .general: "proxy_internal_error"
    case .forbidden, .unrouted: "destination_ip_prohibited"
    case .networkUnreachable, .hostUnreachable: "destination_ip_unroutable"
    case .noSuchHost: "dns_error"
    case .refused: "connection_refused"
    case .timedOut: "connection_timeout"
    case .crowded: "connection_limit_reached"
    case .unsupportedCommand, .unsupportedAddress, .malformed, .tooLong: "http_request_error"
    }
  }

  /// The sentence of `unrouted`, with its cure.
  package static let withoutRoute =
    "roamward-socks has no route of its own: start it by `roamward run --through TUNNEL -- roamward-socks`, or name its unit in `apps`"
    + " of a policy"

  /// A sentence for a person.
  package var text: String {
    switch self {
    case .general: "the proxy has an internal error"
    case .forbidden: "the destination is forbidden: a firewall or a kill switch blocks it, or it is a loopback address"
    case .networkUnreachable: "no route leads to the destination; is the tunnel connected, and does it carry this address?"
    case .hostUnreachable: "the destination is unreachable"
    case .noSuchHost: "the name has no address; check it, and the name servers of the tunnel"
    case .refused: "the destination refuses the connection"
    case .timedOut: "the destination does not answer"
    case .unsupportedCommand: "this proxy has CONNECT of HTTP, and CONNECT and UDP ASSOCIATE of SOCKS5"
    case .unsupportedAddress: "the address has an unknown type"
    case .crowded: "the proxy has no room for another flow; try again later"
    case .unrouted: Self.withoutRoute
    case .malformed: "the request cannot be read: CONNECT HOST:PORT HTTP/1.1"
    case .tooLong: "the request is too long"
    }
  }
}
