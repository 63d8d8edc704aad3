package import KernelModel
package import KeyMemory
package import NetworkTypes
package import RoamwardCore

/// Values that tests are made of. They trap on nonsense: a test that misspells an address should not pass.
package enum Sample {
  package static func place(_ line: Int = 1) -> SourceLocation { SourceLocation(file: "10-test.yaml", line: line, column: 1) }

  package static func address(_ text: String) -> IPAddress { required(IPAddress(text), text) }
  package static func prefix(_ text: String) -> IPPrefix { required(IPPrefix(text), text) }
  package static func own(_ text: String) -> InterfaceAddress { required(InterfaceAddress(text), text) }
  package static func ssid(_ text: String) -> SSID { required(SSID(text), text) }
  package static func domain(_ text: String) -> DomainName { required(DomainName(text), text) }
  package static func users(_ names: String...) -> [UserName] { names.map { required(UserName($0), $0) } }
  package static func pattern(_ text: String) -> DomainPattern { required(DomainPattern(text), text) }
  package static func endpoint(_ text: String) -> Endpoint { required(Endpoint(text), text) }
  package static func index(_ number: UInt32) -> InterfaceIndex { required(InterfaceIndex(number), "index \(number)") }

  /// Keys whose 32 bytes are all the same.
  package static func secretKey(_ byte: UInt8) -> SecretKey { required(SecretKey(bytes: Array(repeating: byte, count: 32)), "key") }
  package static func key(_ byte: UInt8) -> WireGuardKey { required(WireGuardKey(bytes: Array(repeating: byte, count: 32)), "key") }

  /// A wg-quick file's content: one peer at 203.0.113.10, which is allowed 10.0.0.0/8.
  package static func wireGuard(
    allowed: [String] = ["10.0.0.0/8"], endpoint: String = "203.0.113.10:51820", addresses: [String] = ["10.77.0.2/32"],
    keepalive: UInt16 = 0
  ) -> WireGuardQuickConfiguration {
    WireGuardQuickConfiguration(
      privateKey: secretKey(1), publicKey: key(2), addresses: addresses.map(own),
      peers: [
        WireGuardPeer(publicKey: key(3), endpoint: self.endpoint(endpoint), allowedIPs: allowed.map(prefix), persistentKeepalive: keepalive)
      ])
  }

  package static func tunnel(
    _ name: String = "corp", rules: [Rule], wireGuard: WireGuardQuickConfiguration = Sample.wireGuard(), routes: RoutePolicy? = nil,
    dns: DNSPolicy? = nil, precedence: TunnelClass = .personal, isEnabled: Bool = true
  ) -> TunnelPolicy {
    TunnelPolicy(
      name: name, isEnabled: isEnabled, precedence: precedence,
      provider: .wireGuard(WireGuardProviderConfiguration(path: "/etc/\(name).conf", configuration: wireGuard)),
      onDemand: OnDemand(rules: rules, timing: Timing(releaseDelay: .zero)), routes: routes, dns: dns, location: place())
  }

  package static func rule(_ match: Condition = .always, _ action: Action, onUnknown: UnknownPolicy? = nil) -> Rule {
    Rule(match: match, action: action, onUnknown: onUnknown, location: place())
  }

  /// A network with one link.
  package static func network(_ link: LinkFacts) -> NetworkSnapshot { NetworkSnapshot(primary: link.name, links: [link]) }

  package static func wifi(
    _ name: String? = nil, domains: [String] = [], servers: [String] = [], gateway: String = "192.0.2.1", address: String = "192.0.2.23/24"
  ) -> LinkFacts {
    LinkFacts(
      name: "wlan0", type: .known(.wifi), ssid: .known(name.map(ssid)), addresses: [own(address)], gateways: [Sample.address(gateway)],
      dnsServers: .known(servers.map(Sample.address)), searchDomains: .known(domains.map(domain)))
  }

  package static func wired(domains: [String] = [], servers: [String] = []) -> LinkFacts {
    LinkFacts(
      name: "eth0", type: .known(.ethernet), addresses: [own("198.51.100.7/24")], gateways: [address("198.51.100.1")],
      dnsServers: .known(servers.map(address)), searchDomains: .known(domains.map(domain)))
  }

  private static func required<Value>(_ value: Value?, _ text: String) -> Value {
    guard let value else { preconditionFailure("the test's own \(text) is not what it should be") }
    return value
  }
}
