package import NetworkTypes

/// The sender of a question, and the way that its answer takes.
package struct Client: Hashable, Sendable {
  package enum Transport: Hashable, Sendable {
    case datagram
    /// A TCP connection, by a number of the program.
    case stream(UInt32)
  }

  /// The server that the program asked.
  package enum Asked: Hashable, Sendable {
    /// This one, as the system's resolver says.
    case system
    /// Another one, which only the agent can find out: the question was redirected.
    case captured
    case server(Upstream)
    /// The servers of a program with a route of its own, by the number of the route.
    case ofRoute(UInt16)
  }

  /// The number of the socket at which its question arrived.
  package var listener: UInt16
  package var address: IPAddress
  package var port: UInt16
  package var transport: Transport
  /// A program of this host, as its address tells. All of them share an address.
  package var isLocal: Bool
  package var asked: Asked

  /// Whether the servers of its route answer all of its questions, whatever the rules say.
  var hasOwnRoute: Bool { if case .ofRoute = asked { true } else { false } }

  package init(
    listener: UInt16, address: IPAddress, port: UInt16, transport: Transport = .datagram, isLocal: Bool, asked: Asked = .system
  ) {
    self.listener = listener
    self.address = address
    self.port = port
    self.transport = transport
    self.isLocal = isLocal
    self.asked = asked
  }
}
