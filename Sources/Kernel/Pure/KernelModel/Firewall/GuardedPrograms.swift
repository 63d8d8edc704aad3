package import NetworkTypes

/// The control group of a guard (`roamward guard`). Each socket that is opened in it has `Ownership.mark` from its creation. The kill
/// switch lets such packets pass to the guard's endpoints alone.
package struct GuardedPrograms: Hashable, Sendable {
  package var group: ProviderGroup
  /// The endpoints outside that its own packets may reach; empty: every address.
  package var endpoints: [GuardedEndpoint]

  package init(group: ProviderGroup, endpoints: [GuardedEndpoint] = []) {
    self.group = group
    self.endpoints = endpoints
  }

  /// Rules for the chain of marked packets. A packet to another address is treated as one without the mark.
  var rules: [String] {
    if endpoints.isEmpty { return ["\(group.match) accept"] }
    return endpoints.uniqued().sorted().map { "\(group.match) \($0.match) accept" } + ["\(group.match) return"]
  }
}

/// An address that the programs of a guard reach outside: one port of it, by UDP and TCP, or everything.
package struct GuardedEndpoint: Hashable, Sendable {
  package var address: IPAddress
  package var port: UInt16?

  package init(address: IPAddress, port: UInt16? = nil) {
    self.address = address
    self.port = port
  }

  fileprivate var match: String {
    "\(address.family == .v4 ? "ip" : "ip6") daddr \(address)" + (port.map { " meta l4proto { tcp, udp } th dport \($0)" } ?? "")
  }
}

extension GuardedEndpoint: Comparable {
  package static func < (a: Self, b: Self) -> Bool { (a.address, a.port ?? 0) < (b.address, b.port ?? 0) }
}

extension GuardedEndpoint: LosslessStringConvertible {
  /// Parses `192.0.2.1`, `192.0.2.1:1194`, `2001:db8::1` or `[2001:db8::1]:1194`.
  package init?(_ text: String) {
    if let address = IPAddress(text) {
      self.init(address: address)
    } else if let endpoint = Endpoint(text), let address = endpoint.address {
      self.init(address: address, port: endpoint.port)
    } else {
      return nil
    }
  }

  package var description: String { port.map { Endpoint(host: .address(address), port: $0).description } ?? address.description }
}
