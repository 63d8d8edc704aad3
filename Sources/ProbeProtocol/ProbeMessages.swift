package import NetworkTypes

/// Bounds of what the agent and `roamward-probe` say to each other. What goes beyond is no message.
package enum ProbeLimits {
  /// Look-ups under way at once; the others wait in the agent.
  package static let lookUps = 8
  /// Transfers under way at once.
  package static let transfers = 8
  /// Name servers that a look-up may ask.
  package static let servers = 3
  /// Addresses of a name; those beyond are left out.
  package static let addresses = 64
  /// Bytes of a body.
  package static let body = 16_384
  /// Sockets that one errand may ask for beyond one for each of its destinations.
  package static let spareSockets = 16
  /// Bytes of a reason; what is longer is cut off.
  package static let reason = 500
}

/// An address and a port of the internet.
package struct Destination: Hashable, Sendable {
  package var address: IPAddress
  package var port: UInt16

  package init(_ address: IPAddress, port: UInt16) {
    self.address = address
    self.port = port
  }
}

/// What the helper is to find out.
package enum Errand: Hashable, Sendable {
  case lookUp(LookUp)
  case transfer(Transfer)
}

/// The addresses of a name, as these servers have them, in this order of preference.
package struct LookUp: Hashable, Sendable {
  package var name: DomainName
  /// One to `ProbeLimits.servers`.
  package var servers: [Destination]

  package init(_ name: DomainName, servers: [Destination]) {
    self.name = name
    self.servers = servers
  }
}

/// One GET request, to one of these addresses of the URL's host.
package struct Transfer: Hashable, Sendable {
  /// `http` or `https`.
  package var url: String
  /// One to `ProbeLimits.addresses`.
  package var addresses: [IPAddress]
  /// Where there are any, the server's key has to be one of these, and nothing else is asked of its certificate.
  package var pins: [String]
  /// As an `Accept` header says it.
  package var accept: String?
  /// Bytes of the body that are wanted, `ProbeLimits.body` at most.
  package var bodyLimit: Int

  package init(url: String, addresses: [IPAddress], pins: [String] = [], accept: String? = nil, bodyLimit: Int = 0) {
    self.url = url
    self.addresses = addresses
    self.pins = pins
    self.accept = accept
    self.bodyLimit = bodyLimit
  }
}

/// What the helper finds out, once for each errand.
package enum ErrandAnswer: Hashable, Sendable {
  /// Of a look-up: one to `ProbeLimits.addresses`, in the server's order.
  case addresses([IPAddress])
  /// Of a look-up: NXDOMAIN of RFC 2308.
  case noSuchName
  /// Of a look-up: the name exists, with neither A nor AAAA records.
  case noAddress
  /// Of a look-up: no server answered.
  case silence
  /// Of a look-up: what c-ares or the server said.
  case failed(reason: String)
  /// Of a transfer: a status of 100 to 999, and the beginning of the body where it was wanted.
  case response(status: Int, body: [UInt8])
  /// Of a transfer: somebody answered who could not prove to be the one that was asked.
  case impostor(reason: String)
  /// Of a transfer: nobody answered.
  case unanswered(reason: String)
  /// Of a transfer: it could not be begun.
  case unsent(reason: String)
  /// The errand was taken back before it was done.
  case cancelled
}

/// A socket that the helper needs: connected, or connecting, to a destination of its errand.
package struct SocketWish: Hashable, Sendable {
  package enum Transport: String, Hashable, Sendable {
    case udp, tcp
  }

  package var errand: UInt32
  /// Counts the wishes of one helper, so that an answer is known by it.
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

/// From the agent to the helper.
package enum AgentMessage: Hashable, Sendable {
  /// Under a number that no other open errand has.
  case errand(UInt32, Errand)
  case cancel(UInt32)
  /// The answer to a wish. Without a reason the socket rides along.
  case socket(wish: UInt32, trouble: String?)
}

/// From the helper to the agent.
package enum HelperMessage: Hashable, Sendable {
  /// The first of all: it is confined, or why it is not and ends.
  case hello(trouble: String?)
  case wish(SocketWish)
  case answer(UInt32, ErrandAnswer)
}
