internal import Glibc
internal import LinuxIO
package import NetworkTypes
package import RoamwardCore
package import SystemdIO

/// Resolves a name as programs of this host do, and reports the server that answered. For diagnosis only.
package final class NameQuestion {
  package static let patience = Duration.seconds(10)

  private let name: DomainName
  private let loop: EventLoop
  private let resolver: EndpointResolver
  private var bus: SystemBus?
  private var lookup: AnyObject?

  package init(_ name: DomainName, on loop: EventLoop) {
    self.name = name
    self.loop = loop
    resolver = EndpointResolver(on: loop, ProbeHelper(on: loop))
  }

  /// Queries the servers one after another, until one answers at all.
  package func ask(_ servers: [IPAddress], then done: @escaping (Result<NameAnswer, ResolveError>) -> Void) {
    guard let server = servers.first else { return done(.failure(.noServers(name))) }
    lookup = resolver.resolve(name, servers: [server]) { [weak self] result in
      switch result {
      case .success(let addresses): done(.success(NameAnswer(addresses: addresses, by: .server(server))))
      case .failure(let error):
        if let self, error.isSilence, servers.count > 1 { ask(Array(servers.dropFirst()), then: done) } else { done(.failure(error)) }
      }
    }
  }

  /// Queries systemd-resolved over its bus interface (org.freedesktop.resolve1(5)).
  package func askResolved(then done: @escaping (Result<NameAnswer, ResolveError>) -> Void) {
    let bus = SystemBus(on: loop)
    self.bus = bus
    bus.opened = { [weak self, weak bus, name] in
      let arguments: [BusArgument] = [.int32(0), .string(name.text), .int32(AF_UNSPEC), .uint64(0)]
      bus?.call(
        "org.freedesktop.resolve1", "/org/freedesktop/resolve1", "org.freedesktop.resolve1.Manager", "ResolveHostname", arguments,
        within: Self.patience
      ) { result in
        switch result {
        case .failure(let error): done(.failure(.failed(name, reason: "systemd-resolved: \(error)")))
        case .success(let values): done(.success(NameAnswer(resolved: values)))
        }
        self?.bus?.disconnect()
      }
    }
    bus.closed = { [name] reason in done(.failure(.failed(name, reason: reason))) }
    bus.connect()
  }
}

extension ResolveError {
  /// Whether the server did not answer, so that the next one is queried.
  fileprivate var isSilence: Bool {
    switch self {
    case .timedOut, .notSent: true
    default: false
    }
  }
}

extension NameAnswer {
  /// a(iiay) of link, family and address; a name; flags. Two flags mean that no server was queried (SD_RESOLVED_FROM_CACHE,
  /// SD_RESOLVED_SYNTHETIC).
  fileprivate init(resolved values: [BusValue]) {
    let found = values.first?.list ?? []
    let flags = values.dropFirst(2).first?.unsigned ?? 0
    self.init(addresses: found.compactMap { $0[2]?.bytes.flatMap { IPAddress(bytes: $0) } })
    guard flags & (1 << 20 | 1 << 19) == 0, let index = found.first?[0]?.unsigned.flatMap({ UInt32(exactly: $0) }), index > 0 else {
      return
    }
    var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
    if let name = if_indextoname(index, &buffer) { by = .link(String(cString: name)) }
  }
}
