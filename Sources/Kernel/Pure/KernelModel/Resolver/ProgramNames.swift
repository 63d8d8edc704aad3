package import NetworkTypes

/// The name servers of programs whose packets have a route of their own (`roamward run`, `apps`). Their questions to a resolver of this
/// machine would be looked up as those of all programs; they come to our own name server instead, at a port for each route.
package struct ProgramNames: Hashable, Sendable {
  /// The programs of one route.
  package struct Route: Hashable, Sendable {
    /// 0 for programs outside of every tunnel; otherwise the number of the tunnel's class.
    package var number: UInt16
    /// The servers that resolve all of their names. Empty: every question fails at once.
    package var servers: [IPAddress]

    package init(number: UInt16, servers: [IPAddress]) {
      self.number = number
      self.servers = servers
    }

    package static let outside: UInt16 = 0

    /// The mark of the programs' sockets.
    package var mark: UInt32 { number == Self.outside ? Ownership.outsideMark : Ownership.programMark(UInt32(number)) }

    /// Whether our name server gets their questions.
    package var hasPort: Bool { number <= ProgramNames.mostRoutes }

    /// The port at which it gets them.
    package var port: UInt16 { NameCapture.port + 1 + number }
  }

  /// Routes with greater numbers have no port: their questions to resolvers of this machine are refused.
  package static let mostRoutes: UInt16 = 15

  /// The ports for all routes.
  package static let ports = NameCapture.port + 1...NameCapture.port + 1 + mostRoutes

  /// In the order of their numbers.
  package var routes: [Route]
  /// The addresses at which a resolver of this machine gets questions of all programs.
  package var resolvers: [IPAddress]
  /// Name servers of tunnels, to which this machine's resolv.conf leads programs outside too.
  package var inside: [IPAddress]

  package init(routes: [Route], resolvers: [IPAddress], inside: [IPAddress] = []) {
    self.routes = routes
    self.resolvers = resolvers
    self.inside = inside
  }
}

extension ProgramNames {
  /// The rules of the chain that changes destinations.
  var rules: [String] {
    routes.flatMap { route in
      IPAddress.Family.allCases.compactMap { family -> String? in
        let (word, own) = (family == .v4 ? "ip" : "ip6", NameCapture.ownAddresses.first { $0.family == family })
        let asked = (resolvers + (route.number == Route.outside ? inside : [])).filter { $0.family == family }.uniqued().sorted()
        guard let own, !asked.isEmpty else { return nil }
        let target = family == .v4 ? "\(own):\(route.port)" : "[\(own)]:\(route.port)"
        return "meta mark 0x\(String(route.mark, radix: 16)) \(word) daddr { \(asked.map(\.description).joined(separator: ", ")) }"
          + " meta l4proto { tcp, udp } th dport 53 "
          + (route.hasPort ? "dnat \(word) to \(target)" : "counter drop")
      }
    }
  }
}

extension ProgramNames {
  /// The rules of a chain for outgoing packets: a port takes packets of its route's programs alone. Others would ask servers past a kill
  /// switch, or inside of a tunnel, without the right to it.
  var portRules: [String] {
    routes.filter(\.hasPort).flatMap { route in
      NameCapture.ownAddresses.map { address in
        "\(address.family == .v4 ? "ip" : "ip6") daddr \(address) meta l4proto { tcp, udp } th dport \(route.port)"
          + " meta mark != 0x\(String(route.mark, radix: 16)) counter drop"
      }
    }
  }
}

extension ProgramNames.Route {
  /// `programs of class 1: 10.0.0.53`.
  private var text: String { number == Self.outside ? "programs outside" : "programs of class \(number)" }
  var words: [String] { ["\(text):"] + (servers.isEmpty ? ["none"] : servers.map(\.description)) }
}
