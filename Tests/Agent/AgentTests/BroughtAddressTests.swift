import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import ProviderProtocol
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// A server may only bring what `allow` names, by whichever setting.
@Suite("What a server brings") struct BroughtAddressTests {
  private let network: NetworkSnapshot = {
    var link = Sample.wifi("Cafe", gateway: "172.20.7.1", address: "172.20.7.23/24")
    link.dnsServers = .known([Sample.address("203.0.113.53")])
    return Sample.network(link)
  }()

  private let narrow = SettingsAllowance(routes: [Sample.prefix("10.98.0.0/16")], domains: [.within(Sample.domain("corp.example"))])

  private func life(_ settings: TunnelSettings, _ allowance: SettingsAllowance, beside others: [TunnelPolicy] = []) -> WatchedAgent {
    let life = WatchedAgent(on: network)
    life.machine.policies = PolicySet(tunnels: [InstalledProviderTests.policy(allowing: allowance)] + others)
    life.machine.providers.settings = ["plain": settings]
    life.start(for: .seconds(20))
    return life
  }

  @Test(
    "addresses: private ones that no network at hand has, and those that the policy allows",
    arguments: [
      ("10.98.0.2/24", ""), ("10.8.0.6/30", ""), ("100.64.1.2/10", ""), ("fd00::2/64", ""),
      ("200.0.0.1/1", "policy"), ("64.0.0.1/2", "policy"), ("1.0.0.1/8", "policy"), ("8.8.8.8/32", "policy"), ("2001:db8::1/64", "policy"),
      ("172.20.7.99/24", "policy"), ("172.20.7.1/24", "taken"), ("172.20.7.23/32", "taken"), ("203.0.113.53/32", "taken"),
      ("127.0.0.2/8", "invalid"), ("224.0.0.1/24", "invalid"), ("255.255.255.255/32", "invalid"), ("0.0.0.0/0", "invalid"),
      ("::ffff:10.98.0.2/128", "invalid"), ("::1/128", "invalid"),
    ]) func addresses(text: String, code: String) throws
  {
    let address = Sample.own(text)
    let life = life(TunnelSettings(addresses: [address, Sample.own("10.98.9.9/32")]), narrow)
    let set = life.machine.state.observed.kernel.addresses.filter { $0.link == "plain" }.map(\.address)
    let alone = Sample.own("\(address.address)/\(address.address.family.bitWidth)")
    #expect(set == (code.isEmpty ? [alone] : []) + [Sample.own("10.98.9.9/32")])
    #expect(life.machine.providers.refusals == (code.isEmpty ? [] : ["plain addresses \(text)"]))
    let notes = try life.tunnel("plain").notes.map(\.text)
    let words = ["policy": "which the policy does not allow", "taken": "has already", "invalid": "not valid here"]
    #expect(code.isEmpty || notes.contains { $0.contains(text) && $0.contains(words[code] ?? "?") }, "\(notes)")
  }

  @Test("name servers: hosts other than this machine") func servers() {
    let bad = ["127.0.0.1", "127.82.0.53", "0.0.0.0", "224.0.0.251", "::1", "::", "ff02::fb", "192.0.0.8", "255.255.255.255"]
    let settings = TunnelSettings(
      addresses: [Sample.own("10.98.0.2/32")],
      dns: DNSSettings(servers: (bad + ["10.98.0.1"]).map(Sample.address), matchDomains: [Sample.domain("corp.example")]))
    let life = life(settings, narrow)
    #expect(life.machine.providers.refusals == bad.map { "plain servers \($0)" })
    let none = TunnelSettings(
      addresses: [Sample.own("10.98.0.2/32")],
      dns: DNSSettings(servers: bad.map(Sample.address), matchDomains: [Sample.domain("corp.example")]))
    #expect(self.life(none, narrow).machine.state.observed.resolvConf == SimulatedMachine().state.observed.resolvConf)
  }

  @Test("no packet outside of `allow` has a way into the link, also beside the kill switch of another tunnel")
  func ways() throws {
    var random = SplitMix64(seed: 2)
    for round in 0..<300 {
      func address() -> IPAddress {
        random.chance(0.7)
          ? IPAddress(v4: UInt32(truncatingIfNeeded: random.next())) : IPAddress(family: .v6, high: random.next(), low: random.next())
      }
      func prefix() -> IPPrefix {
        let one = address()
        return IPPrefix(one, length: Int(random.next() % UInt64(one.family.bitWidth + 1))) ?? .host(one)
      }
      let allowed = (0..<1 + Int(random.next() % 3)).map { _ in prefix() }
      let settings = TunnelSettings(
        addresses: [Sample.own("10.98.0.2/32")]
          + (0..<6).compactMap { _ in
            let one = address()
            return InterfaceAddress(one, prefixLength: Int(random.next() % UInt64(one.family.bitWidth + 1)))
          },
        includedRoutes: (0..<6).map { _ in prefix() }, excludedRoutes: (0..<2).map { _ in prefix() })
      var full = Sample.tunnel(
        "full", rules: [Sample.rule(.always, .connect)], routes: RoutePolicy(include: [.everything(.v4), .everything(.v6)]))
      full.killSwitch = .always
      let isGuarded = random.chance(0.5)
      let life = life(settings, SettingsAllowance(routes: allowed, domains: [.any]), beside: isGuarded ? [full] : [])
      let kernel = life.machine.state.observed.kernel
      for one in kernel.addresses where one.link == "plain" {
        #expect(one.address.onLinkPrefix == .host(one.address.address), "round \(round): \(one)")
      }
      for route in kernel.routes where route.link == "plain" {
        #expect(allowed.contains { $0.contains(route.destination) }, "round \(round): \(route) of \(allowed)")
      }
      let tables = life.machine.log.applied.compactMap { if case .replaceFirewall(let table) = $0 { table } else { nil } }
      guard isGuarded else { continue }
      for table in tables {
        for inside in table.insides where inside.link == "plain" {
          let isWhole = IPAddress.Family.allCases.allSatisfy(allowed.coverEverything)
          #expect(isWhole || inside.prefixes?.all == allowed.uniqued().sorted(), "round \(round): \(inside)")
        }
      }
      #expect(tables.contains { table in table.insides.contains { $0.link == "plain" } }, "round \(round)")
    }
  }
}
