internal import LinuxIO
package import NetworkTypes
package import SystemdIO

/// Why a name has no address now.
package enum ResolveError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The underlay names no server to ask, and the hosts file does not know the name.
  case noServers(DomainName)
  /// NXDOMAIN of RFC 2308.
  case noSuchName(DomainName)
  /// The name exists, with neither A nor AAAA records.
  case noAddress(DomainName)
  case timedOut(DomainName)
  /// The kernel would not bind or mark the question's socket: this machine's own trouble.
  case notSent(DomainName, because: String)
  /// What c-ares or the server said.
  case failed(DomainName, because: String)

  package var description: String {
    switch self {
    case .noServers(let name): "cannot look up \(name): the network gave no name server"
    case .noSuchName(let name): "there is no name \(name)"
    case .noAddress(let name): "\(name) has no address"
    case .timedOut(let name): "cannot look up \(name): no name server answered in time"
    case .notSent(let name, let reason), .failed(let name, let reason): "cannot look up \(name): \(reason)"
    }
  }
}

/// Looks up the names of tunnels' endpoints by the servers of the underlay, past every tunnel: through c-ares, on the event loop.
///
/// The system's own resolver is no use here: resolv.conf may point into the very tunnel whose endpoint is sought.
package final class EndpointResolver {
  /// From the question to the answer, whatever happens.
  package static let limit = Duration.seconds(5)

  private let loop: EventLoop
  private let port: UInt16
  private let limit: Duration

  /// `port` and `limit` are for tests.
  package init(on loop: EventLoop, port: UInt16 = 53, limit: Duration = EndpointResolver.limit) {
    self.loop = loop
    self.port = port
    self.limit = limit
  }

  /// Finds the IPv4 and IPv6 addresses of a name, best first (RFC 6724), none twice. The hosts file is honoured.
  ///
  /// The questions go to these servers (the first three) and leave by `link`, where one is named, with the firewall mark `mark`, so that
  /// no rule of ours sends them into a tunnel; where the kernel forbids either, the lookup fails rather than taking another way. Both
  /// want CAP_NET_ADMIN or CAP_NET_RAW. `then` is called once, later, never from within this call; dropping the lookup cancels it.
  package func resolve(
    _ name: DomainName, servers: [IPAddress], link: String? = nil, mark: UInt32? = nil,
    then: @escaping (Result<[IPAddress], ResolveError>) -> Void
  ) -> Lookup {
    let servers = servers.prefix(3).map { $0.family == .v6 ? "[\($0)]:\(port)" : "\($0):\(port)" }
    let query = AresQuery(name, servers: servers, link: link, mark: mark, limit: limit, on: loop, then: then)
    query.begin()
    return Lookup(query)
  }
}

/// A lookup under way: lasts as long as the value is kept.
package final class Lookup {
  private let query: AresQuery

  init(_ query: AresQuery) { self.query = query }

  deinit { query.close() }

  /// Ends it at once; its handler will not be called.
  package func cancel() { query.close() }
}
