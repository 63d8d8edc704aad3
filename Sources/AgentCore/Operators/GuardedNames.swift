import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore

/// An endpoint as the request writes it: an address or a name, with or without a port.
struct WantedEndpoint {
  let host: Endpoint.Host
  let port: UInt16?

  init(_ host: Endpoint.Host, port: UInt16?) {
    self.host = host
    self.port = port
  }

  var isName: Bool { if case .name = host { true } else { false } }

  init(_ text: String) throws(RequestError) {
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

/// The endpoints of a guard while their names are resolved.
final class GuardedNames {
  private let wanted: [WantedEndpoint]
  private var found: [GuardedEndpoint] = []
  private var lookups: [Cancellation] = []
  private var open = 0
  private var done: ((Result<[GuardedEndpoint], RequestError>) -> Void)?

  init(_ wanted: [WantedEndpoint]) { self.wanted = wanted }

  /// Calls back once; at once if there is no name. Lives until then.
  func resolve(_ network: NetworkPlatform, on link: LinkFacts?, then done: @escaping (Result<[GuardedEndpoint], RequestError>) -> Void) {
    self.done = done
    open = 1
    for endpoint in wanted {
      switch endpoint.host {
      case .address(let address): found.append(GuardedEndpoint(address: address, port: endpoint.port))
      case .name(let name):
        open += 1
        let lookup = network.resolve(name, LookupWay(outsideOn: link)) { [self] in take($0, of: name, port: endpoint.port) }
        if let lookup { lookups.append(lookup) }
      }
    }
    end(one: nil)
  }

  private func take(_ resolution: Resolution, of name: DomainName, port: UInt16?) {
    switch resolution {
    case .addresses(let addresses) where !addresses.isEmpty:
      found += addresses.map { GuardedEndpoint(address: $0, port: port) }
      end(one: nil)
    case .addresses: end(one: "\(name) has no address")
    case .failed(let reason): end(one: "\(name) cannot be resolved: \(reason)")
    }
  }

  private func end(one failure: String?) {
    open -= 1
    guard let done, open == 0 || failure != nil else { return }
    self.done = nil
    lookups = []
    done(
      failure.map { .failure(RequestError(code: .failed, message: "the endpoint \($0); write its address")) }
        ?? .success(found.uniqued().sorted()))
  }
}
