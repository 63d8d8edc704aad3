package import NetworkTypes

/// Limits of the messages between the agent and `roamward-probe`. A message beyond them is invalid.
package enum ProbeLimits {
  /// Concurrent look-ups; the others wait in the agent.
  package static let lookUps = 8
  /// Concurrent transfers.
  package static let transfers = 8
  /// Name servers that a look-up may query.
  package static let servers = 3
  /// Addresses of a name; those beyond are left out.
  package static let addresses = 64
  /// Bytes of a body.
  package static let body = 16_384
  /// Sockets that one task may request beyond one for each of its destinations.
  package static let spareSockets = 16
  /// Bytes of a reason; the rest is cut off.
  package static let reason = 500
}

/// An internet address and a port.
package struct Destination: Equatable, Sendable {
  package var address: IPAddress
  package var port: UInt16

  package init(_ address: IPAddress, port: UInt16) {
    self.address = address
    self.port = port
  }
}

/// A task of the helper.
package enum Errand: Equatable, Sendable {
  case lookUp(LookUp)
  case transfer(Transfer)
}

/// A look-up of a name by these servers, in this order of preference.
package struct LookUp: Equatable, Sendable {
  package var name: DomainName
  /// One to `ProbeLimits.servers`.
  package var servers: [Destination]

  package init(_ name: DomainName, servers: [Destination]) {
    self.name = name
    self.servers = servers
  }
}

/// One GET request, to one of these addresses of the URL's host.
package struct Transfer: Equatable, Sendable {
  /// `http` or `https`.
  package var url: String
  /// One to `ProbeLimits.addresses`.
  package var addresses: [IPAddress]
  /// If not empty, the server's key has to be one of these, and its certificate is not checked otherwise.
  package var pins: [String]
  /// The value of an `Accept` header.
  package var accept: String?
  /// The maximum length of the body in bytes, `ProbeLimits.body` at most.
  package var bodyLimit: Int

  package init(url: String, addresses: [IPAddress], pins: [String] = [], accept: String? = nil, bodyLimit: Int = 0) {
    self.url = url
    self.addresses = addresses
    self.pins = pins
    self.accept = accept
    self.bodyLimit = bodyLimit
  }
}

/// The result of a task, sent once for each.
package enum ErrandAnswer: Equatable, Sendable {
  /// Result of a look-up: one to `ProbeLimits.addresses`, in the server's order.
  case addresses([IPAddress])
  /// Result of a look-up: NXDOMAIN of RFC 2308.
  case noSuchName
  /// Result of a look-up: the name exists, with neither A nor AAAA records.
  case noAddress
  /// Result of a look-up: no server answered.
  case silence
  /// Result of a look-up: the error of c-ares or the server.
  case failed(reason: String)
  /// Result of a transfer: a status of 100 to 999, and the beginning of the body if it was wanted.
  case response(status: Int, body: [UInt8])
  /// Result of a transfer: a server answered that could not prove its identity.
  case impostor(reason: String)
  /// Result of a transfer: no server answered.
  case unanswered(reason: String)
  /// Result of a transfer: it could not be begun.
  case unsent(reason: String)
  /// The task was cancelled before it was done.
  case cancelled
}

/// A request of the helper for a socket: connected, or connecting, to a destination of its task.
package struct SocketWish: Equatable, Sendable {
  package enum Transport: String, Hashable, Sendable {
    /// Datagrams, truncated where an answer is long.
    case udp
    /// A stream, for answers that were truncated.
    case tcp
  }

  package var errand: UInt32
  /// A sequence number of one helper's requests, which identifies the answer.
  package var number: UInt32
  package var transport: Transport
  package var destination: Destination

  package init(errand: UInt32, number: UInt32, transport: Transport, destination: Destination) {
    self.errand = errand
    self.number = number
    self.transport = transport
    self.destination = destination
  }
}

/// A message from the agent to the helper.
package enum AgentMessage: Equatable, Sendable {
  /// A task, with a number that no other open task has.
  case errand(UInt32, Errand)
  case cancel(UInt32)
  /// The answer to a request. Without a reason, the socket is attached.
  case socket(wish: UInt32, trouble: String?)
}

/// A message from the helper to the agent.
package enum HelperMessage: Equatable, Sendable {
  /// The first message: it is confined, or the reason why it is not and ends.
  case hello(trouble: String?)
  case wish(SocketWish)
  case answer(UInt32, ErrandAnswer)
}
