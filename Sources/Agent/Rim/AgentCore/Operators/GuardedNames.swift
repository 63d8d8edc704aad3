import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore

/// An endpoint as the request writes it: an address or a name, with or without a port.
struct WantedEndpoint {
  let host: Endpoint.Host
  let port: UInt16?
  /// Whether nothing is opened without its address. One that is not needed is left out then.
  let isNeeded: Bool

  init(_ host: Endpoint.Host, port: UInt16?, isNeeded: Bool = true) {
    self.host = host
    self.port = port
    self.isNeeded = isNeeded
  }

  init(_ text: String) throws(RequestError) {
    isNeeded = true
    if let endpoint = GuardedEndpoint(text) {
      (host, port) = (.address(endpoint.address), endpoint.port)
    } else if let endpoint = Endpoint(text) {
      (host, port) = (endpoint.host, endpoint.port)
    } else if let name = DomainName(text), !text.contains(":") {
      (host, port) = (.name(name), nil)
    } else {
      throw RequestError(
        code: .badRequest,
        message:
          "\"\(escaped(text))\" is no endpoint; write an address or a name, with or without a port: 203.0.113.10:1194, [2001:db8::1]:1194")
    }
  }
}

/// The result of resolving all names.
struct ResolvedNames {
  var endpoints: [GuardedEndpoint] = []
  /// The reasons why optional names have no address.
  var leftOut: [String] = []
}

/// The endpoints of a guard or of a sign-in while their names are resolved.
final class GuardedNames {
  private let wanted: [WantedEndpoint]
  private var found = ResolvedNames()
  private var lookups: [Cancellation] = []
  private var open = 0
  private var done: ((Result<ResolvedNames, RequestError>) -> Void)?

  init(_ wanted: [WantedEndpoint]) { self.wanted = wanted }

  /// Calls back once; at once if nothing is to be asked. `needsServers`: the network's name servers have to be known then. Lives until
  /// then.
  func resolve(
    _ resolver: Lookups, on link: LinkFacts?, needsServers: Bool = false,
    then done: @escaping (Result<ResolvedNames, RequestError>) -> Void
  ) {
    self.done = done
    open = needsServers ? 2 : 1
    for endpoint in wanted {
      switch endpoint.host {
      case .address(let address): found.endpoints.append(GuardedEndpoint(address: address, port: endpoint.port))
      case .name(let name):
        open += 1
        let lookup = resolver.resolve(name, by: .outside, on: link) { [self] in take($0, of: name, endpoint) }
        if let lookup { lookups.append(lookup) }
      }
    }
    if needsServers {
      let wait = resolver.awaitServers(on: link) { [self] in end(one: nil) }
      if let wait { lookups.append(wait) }
    }
    end(one: nil)
  }

  private func take(_ resolution: Resolution, of name: DomainName, _ wanted: WantedEndpoint) {
    switch resolution {
    case .addresses(let addresses) where !addresses.isEmpty:
      found.endpoints += addresses.map { GuardedEndpoint(address: $0, port: wanted.port) }
      end(one: nil)
    case .addresses: fail("\(name) has no address", wanted)
    case .missing(let reason), .failed(let reason): fail("\(name) cannot be resolved: \(reason)", wanted)
    }
  }

  private func fail(_ reason: String, _ wanted: WantedEndpoint) {
    if wanted.isNeeded { return end(one: reason) }
    found.leftOut.append(reason)
    end(one: nil)
  }

  private func end(one failure: String?) {
    open -= 1
    guard let done, open == 0 || failure != nil else { return }
    self.done = nil
    lookups = []
    done(
      failure.map { .failure(RequestError(code: .failed, message: "the endpoint \($0); write its address")) }
        ?? .success(ResolvedNames(endpoints: found.endpoints.uniqued().sorted(), leftOut: found.leftOut.sorted())))
  }
}
