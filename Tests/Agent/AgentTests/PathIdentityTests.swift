import AgentCore
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// The address in use, its route and its gateway are the path; other addresses of the link are not.
@Suite("The path below a tunnel") struct PathIdentityTests {
  private func link(_ addresses: String..., gateways: [String] = ["192.0.2.1", "fe80::1"], sources: [String] = []) -> NetworkSnapshot {
    var link = Sample.wifi("Home")
    link.addresses = addresses.map(Sample.own)
    link.gateways = gateways.map(Sample.address)
    link.preferredSources = sources.map(Sample.address)
    return Sample.network(link)
  }

  private func changed(_ before: NetworkSnapshot, _ after: NetworkSnapshot...) -> Set<IPAddress.Family> {
    var path = PathIdentity(before)
    var changed: Set<IPAddress.Family> = []
    for snapshot in after {
      let new = PathIdentity(snapshot, after: path)
      changed.formUnion(new.families(differingFrom: path))
      path = new
    }
    return changed
  }

  @Test("addresses besides the one in use come and go") func others() {
    let one = link("192.0.2.23/24", "2001:db8::23/64")
    #expect(changed(one, link("192.0.2.23/24", "2001:db8::23/64", "2001:db8::1:1/64"), one) == [])
    #expect(changed(one, link("192.0.2.7/24", "192.0.2.23/24", "198.51.100.1/24", "2001:db8::1/64", "2001:db8::23/64"), one) == [])
    // A privacy address takes over from the one before: the old one is in use until it goes.
    #expect(changed(one, link("192.0.2.23/24", "2001:db8::23/64", "2001:db8::24/64"), link("192.0.2.23/24", "2001:db8::24/64")) == [.v6])
  }

  @Test("the address in use, its gateway, or another link") func own() {
    let one = link("192.0.2.23/24", "2001:db8::23/64")
    #expect(changed(one, link("192.0.2.24/24", "2001:db8::23/64")) == [.v4])
    #expect(changed(one, link("192.0.2.23/24", "2001:db8::23/64", gateways: ["192.0.2.2", "fe80::1"])) == [.v4])
    #expect(changed(one, NetworkSnapshot()) == [.v4, .v6])
    #expect(changed(link("192.0.2.23/24", gateways: ["192.0.2.1"]), one) == [.v6])
  }

  @Test("the source that the default route names is the one in use") func named() {
    let both = link("192.0.2.7/24", "192.0.2.23/24", sources: ["192.0.2.23"])
    #expect(changed(both, link("192.0.2.23/24", sources: ["192.0.2.23"])) == [])
    #expect(changed(both, link("192.0.2.7/24", "192.0.2.23/24", sources: ["192.0.2.7"])) == [.v4])
  }

  @Test("another address on the primary link begins no session anew; the loss of the one in use does") func agent() throws {
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)]), on: link("192.0.2.23/24", "2001:db8::23/64"))
    life.start()
    life.forget()
    life.move(to: link("192.0.2.23/24", "2001:db8::23/64", "2001:db8:2::dead:1/64"))
    life.move(to: link("192.0.2.23/24", "192.0.2.99/24", "2001:db8::23/64"))
    life.move(to: link("192.0.2.23/24", gateways: ["192.0.2.1"]))
    #expect(life.states.isEmpty && life.machine.log.renewals == 0)
    life.move(to: link("192.0.2.24/24", gateways: ["192.0.2.1"]))
    #expect(life.states == ["corp reasserting", "corp connected"] && life.machine.log.renewals == 1)
  }
}
