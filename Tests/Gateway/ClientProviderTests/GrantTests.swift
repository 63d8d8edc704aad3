import LoginProtocol
import NetworkTypes
import Testing

@testable import ClientProvider

/// The use of each field that a client gets with its login.
@Suite struct GrantTests {
  /// Fields that are no settings of the tunnel: the login, the engine and the search for gateways have them. A new field is here or in
  /// `changes`.
  static let others: Set = ["user", "device", "gatewayKey", "endpoint", "keepalive", "relayPort", "sites"]

  static let changes: [String: @Sendable (inout LoginGrant) -> Void] = [
    "addresses": { $0.addresses = [] },
    "routes": { $0.routes = [] },
    "dns": { $0.dns = [] },
    "search": { $0.search = [] },
    "mtu": { $0.mtu = 1281 },
    "gatewayAddresses": { $0.gatewayAddresses = [IPAddress("10.77.0.1")].compactMap { $0 } },
  ]

  @Test("each field is a setting of the tunnel, or used elsewhere") func complete() {
    #expect(Set(Mirror(reflecting: grant).children.compactMap(\.label)) == Self.others.union(Self.changes.keys))
  }

  @Test("each setting of the tunnel has an effect on it", arguments: changes.keys.sorted()) func effect(field: String) throws {
    var other = grant
    let change = try #require(Self.changes[field])
    change(&other)
    #expect(other.tunnelSettings != grant.tunnelSettings)
  }
}
