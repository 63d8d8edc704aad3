import LinuxIO
package import NetworkTypes
internal import ProbeProtocol
internal import RoamwardCore
package import SystemdIO

/// The reason why a name has no address now.
package enum ResolveError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The underlay has no name server, and the hosts file does not have the name.
  case noServers(DomainName)
  /// NXDOMAIN of RFC 2308.
  case noSuchName(DomainName)
  /// The name exists, with neither A nor AAAA records.
  case noAddress(DomainName)
  case timedOut(DomainName)
  /// The kernel would not bind or mark the query's socket: a problem of this machine.
  case notSent(DomainName, reason: String)
  /// The error of c-ares or the server.
  case failed(DomainName, reason: String)

  /// Whether the answer is that there is no address.
  package var isMissing: Bool {
    switch self {
    case .noSuchName, .noAddress: true
    case .noServers, .timedOut, .notSent, .failed: false
    }
  }

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

/// Resolves names by the servers of the underlay, outside every tunnel, through the confined probe process.
///
/// The system's own resolver cannot be used: resolv.conf may point into the very tunnel whose endpoint is to be resolved.
package final class EndpointResolver {
  /// The total time limit of a look-up.
  package static let limit = Duration.seconds(5)

  private let loop: EventLoop
  private let helper: ProbeHelper
  private let port: UInt16
  private let limit: Duration

  /// `port` and `limit` are for tests.
  package init(on loop: EventLoop, _ helper: ProbeHelper, port: UInt16 = 53, limit: Duration = EndpointResolver.limit) {
    self.loop = loop
    self.helper = helper
    self.port = port
    self.limit = limit
  }

  /// Finds the IPv4 and IPv6 addresses of a name, best first (RFC 6724), without duplicates. The hosts file takes precedence.
  ///
  /// The queries go to these servers (the first three) and leave by `link`, if given. The firewall mark `mark` prevents our rules from
  /// routing them into a tunnel. If the kernel forbids either, the lookup fails: no other path is used. Both require CAP_NET_ADMIN or
  /// CAP_NET_RAW. `then` is called once, later, never during this call; releasing the lookup cancels it.
  package func resolve(
    _ name: DomainName, servers: [IPAddress], link: String? = nil, mark: UInt32? = nil,
    then: @escaping (Result<[IPAddress], ResolveError>) -> Void
  ) -> Lookup {
    let lookup = Lookup(name, by: Passage(link: link, mark: mark), then)
    let known = (try? TextFile.read(HostsFile.path, limit: 1 << 24)).map { HostsFile.addresses(of: name, in: $0) } ?? []
    if !known.isEmpty {
      lookup.finishSoon(.success(known), on: loop)
    } else if servers.isEmpty {
      lookup.finishSoon(.failure(.noServers(name)), on: loop)
    } else {
      lookup.begin(servers.prefix(ProbeLimits.servers).map { Destination($0, port: port) }, helper, within: limit, on: loop)
    }
    return lookup
  }
}

/// A lookup in progress, as long as the value is retained.
package final class Lookup {
  private let name: DomainName
  private let passage: Passage
  private var handler: ((Result<[IPAddress], ResolveError>) -> Void)?
  private var run: ErrandRun?
  private var deadline: EventSource?

  fileprivate init(_ name: DomainName, by passage: Passage, _ handler: @escaping (Result<[IPAddress], ResolveError>) -> Void) {
    self.name = name
    self.passage = passage
    self.handler = handler
  }

  /// Whether no server has been queried yet.
  var isWaiting: Bool { run?.isWaiting ?? false }

  /// Ends it at once; its handler will not be called.
  package func cancel() {
    handler = nil
    run = nil
    deadline = nil
  }

  fileprivate func begin(_ servers: [Destination], _ helper: ProbeHelper, within limit: Duration, on loop: EventLoop) {
    deadline = try? loop.at(.now + limit) { [weak self] in
      guard let self else { return }
      // No server has been queried in this case.
      let reason = "\(ProbeHelper.program) was not ready within \(limit)"
      finish(.failure(isWaiting ? .notSent(name, reason: reason) : .timedOut(name)))
    }
    run = helper.run(.lookUp(LookUp(name, servers: servers)), by: passage) { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let answer): finish(outcome(answer))
      case .failure(let failure): finish(.failure(.notSent(name, reason: failure.description)))
      }
    }
  }

  fileprivate func finishSoon(_ result: Result<[IPAddress], ResolveError>, on loop: EventLoop) {
    deadline = try? loop.at(.now) { [weak self] in self?.finish(result) }
  }

  private func outcome(_ answer: ErrandAnswer) -> Result<[IPAddress], ResolveError> {
    switch answer {
    case .addresses(let found):
      // Addresses that a gateway or server can have.
      let usable = found.filter { !$0.isMulticast && $0 != .unspecified($0.family) }.uniqued()
      return usable.isEmpty ? .failure(.noAddress(name)) : .success(usable)
    case .noSuchName: return .failure(.noSuchName(name))
    case .noAddress: return .failure(.noAddress(name))
    case .silence: return .failure(.timedOut(name))
    case .failed(let reason): return .failure(.failed(name, reason: reason))
    case .response, .impostor, .unanswered, .unsent, .cancelled: return .failure(.failed(name, reason: "it was not looked up"))
    }
  }

  private func finish(_ result: Result<[IPAddress], ResolveError>) {
    let handler = handler
    cancel()
    handler?(result.map { [passage] found in preferred(found, source: passage.source) })
  }
}
