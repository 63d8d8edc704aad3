package import JSON
package import NameServer
package import NetworkTypes

/// Limits of the messages between the agent and `roamward-names`.
package enum NameLimits {
  /// Listening sockets.
  package static let listeners = 128
  /// Sockets to name servers, in all pools.
  package static let upstreams = 1024
  /// Domains of one message: with the longest names it has less than 64 KiB.
  package static let domains = 240
  /// The least time between two reports of withheld answers: the network's servers can cause any number of them.
  package static let withheldInterval = Duration.seconds(1)
}

/// A message from the agent to `roamward-names`.
package enum NameOrder: Equatable, Sendable, Codable {
  /// A listening socket for clients: attached. UDP, or TCP. `address`: what it is bound to.
  case listener(number: UInt16, address: AddressText, isStream: Bool, askers: NameAskers)
  /// A bound UDP socket for questions to name servers: attached. It is used when a pool has it. Its number is one that no other socket has.
  case upstream(number: UInt16)
  /// Closes a listening socket.
  case close(number: UInt16)
  /// Replaces the sockets of a pool. Those that are in no pool any more are closed.
  case pool(number: UInt16, v4: [UInt16], v6: [UInt16])
  /// The first part of a configuration.
  case rules(NameRules)
  /// Domains of a disposition of the last `rules`; at most `NameLimits.domains`.
  case domains(disposition: UInt16, names: [String])
  /// Domains of the last `rules` whose names may have blocked addresses; at most `NameLimits.domains`.
  case rebindAllowed(names: [String])
  /// Domains of the last `rules` whose names are routed; at most `NameLimits.domains`.
  case routedDomains(names: [String])
  /// Uses the configuration that was sent. Answered by `applied`.
  case apply
  /// The state of a trigger's tunnel.
  case state(trigger: Int, state: TriggerState)
  /// The answer to `stream`: a connected or connecting TCP socket, attached, or the reason why there is none.
  case stream(number: UInt32, trouble: String?)
  /// The answer to `origin`: the server that the question was sent to; `nil`: it cannot be found out.
  case origin(number: UInt32, address: AddressText?, port: UInt16)
  /// The answer to `answered`: whether its addresses are routed. Otherwise the clients get a failure.
  case routed(number: UInt32, isRouted: Bool)
  /// Answered by `counters`.
  case count
}

/// The programs whose questions arrive at a listening socket.
package enum NameAskers: Hashable, Sendable, Codable {
  /// Those that resolv.conf leads to it.
  case led
  /// Those that asked other servers: their questions were redirected.
  case captured
  /// Those with a route of their own, which has this number.
  case ofRoute(UInt16)
}

/// A message from `roamward-names` to the agent.
package enum NameReport: Equatable, Sendable, Codable {
  /// The first message: it is confined, or the reason why it is not and ends.
  case hello(trouble: String?)
  /// A client asks for a name whose tunnel is down: it is to be started. `address` and `port` are the client's, `listener` is the socket at
  /// which it asked: by these the agent finds the program.
  case start(trigger: Int, name: String, type: UInt16, listener: UInt16, address: AddressText, port: UInt16, isStream: Bool)
  /// It needs a TCP socket of the pool's kind, connected to this name server.
  case stream(number: UInt32, pool: UInt16, address: AddressText, port: UInt16)
  /// It needs the server that a captured question was sent to. `address` and `port` are the client's, `listener` is the socket at which the
  /// question arrived.
  case origin(number: UInt32, listener: UInt16, address: AddressText, port: UInt16, isStream: Bool)
  /// The answer to `apply`: the reason why the configuration was left out; `nil`: it is in use.
  case applied(fault: String?)
  /// Answers were withheld since the last such report, because of addresses inside tunnels; the last one was for this name, with this
  /// address. At most one report in `NameLimits.withheldInterval`.
  case withheld(count: Int, name: String, address: AddressText)
  /// An answer for a routed name waits: its addresses are to be routed first. `ttl`: the seconds for which a program may keep it. Answered
  /// by `routed`.
  case answered(number: UInt32, name: String, addresses: [AddressText], ttl: UInt32)
  /// A routed name and another one have this address. Once for an address.
  case shared(address: AddressText, name: String, other: String)
  /// The answer to `count`. Bytes of the cache and the rules, nearly.
  case counters(NameServerCounters, held: Int, open: Int, cacheBytes: Int, ruleBytes: Int)
}

/// A configuration without its domains.
package struct NameRules: Hashable, Sendable, Codable {
  package struct Group: Hashable, Sendable, Codable {
    package struct Server: Hashable, Sendable, Codable {
      package var address: AddressText
      package var port: UInt16
    }

    package var servers: [Server]
    package var pool: UInt16
    package var longestTTL: UInt32?
    package var blocked: [PrefixText]
  }

  /// The group that answers programs with a route of their own.
  package struct Route: Hashable, Sendable, Codable {
    package var number: UInt16
    package var group: Int
  }

  /// As the agent's number for the network; its bits are those of `NameServerConfiguration.network`.
  package var network: Int64
  package var groups: [Group]
  package var triggers: [Trigger]
  package var dispositions: [Disposition]
  package var rest: Disposition
  package var answersCanary: Bool
  package var passing: Passing?
  package var routes: [Route]
  package var searchDomains: [String]
  /// The number of domains that follow; more are possible.
  package var domainCount: Int

  /// Everything of a configuration but its domains.
  package init(_ configuration: NameServerConfiguration) {
    network = Int64(bitPattern: configuration.network)
    groups = configuration.groups.map { group in
      Group(
        servers: group.servers.map { Group.Server(address: AddressText($0.address), port: $0.port) }, pool: group.pool,
        longestTTL: group.longestTTL, blocked: group.blocked.map { PrefixText($0) })
    }
    triggers = configuration.triggers
    dispositions = configuration.dispositions
    rest = configuration.rest
    answersCanary = configuration.answersCanary
    passing = configuration.passing
    routes = configuration.routes.sorted { $0.key < $1.key }.map { Route(number: $0.key, group: $0.value) }
    searchDomains = configuration.searchDomains.map(\.text)
    domainCount = configuration.domains.count
  }

  /// The configuration, with these domains.
  package func configuration(_ domains: DomainMap) -> NameServerConfiguration {
    var configuration = NameServerConfiguration(
      network: UInt64(bitPattern: network),
      groups: groups.map { group in
        UpstreamGroup(
          servers: group.servers.map { Upstream($0.address.value, port: $0.port) }, pool: group.pool, longestTTL: group.longestTTL,
          blocked: group.blocked.map(\.value))
      }, triggers: triggers, dispositions: dispositions, domains: domains, rest: rest, answersCanary: answersCanary, passing: passing,
      searchDomains: searchDomains.compactMap { DomainName($0) })
    configuration.routes = Dictionary(routes.map { ($0.number, $0.group) }) { first, _ in first }
    return configuration
  }
}

/// An address, as text in JSON.
package struct AddressText: Hashable, Sendable, CodedAsText {
  package static let expected = "an IP address"
  package static let schema: JSON = ["type": "string"]
  package static let sample = AddressText(IPAddress(v4: 0))

  package let value: IPAddress

  package init(_ value: IPAddress) { self.value = value }

  package init?(_ text: String) {
    guard let value = IPAddress(text) else { return nil }
    self.value = value
  }

  package var description: String { value.description }
}

/// A prefix, as text in JSON.
package struct PrefixText: Hashable, Sendable, CodedAsText {
  package static let expected = "a prefix"
  package static let schema: JSON = ["type": "string"]
  package static let sample = PrefixText(.everything(.v4))

  package let value: IPPrefix

  package init(_ value: IPPrefix) { self.value = value }

  package init?(_ text: String) {
    guard let value = IPPrefix(text) else { return nil }
    self.value = value
  }

  package var description: String { value.description }
}
