import AgentCore
import ControlProtocol
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Facts that somebody has to be asked for, that are still to come, or that nobody can give.
@Suite("Facts that are awaited") struct AwaitedFactTests {
  private let router = MACAddress("02:00:5e:10:00:01")

  @Test("at home by the gateway's hardware address, an idle machine has the kernel ask, and never connects", arguments: KillSwitch.allCases)
  func atHome(_ killSwitch: KillSwitch) throws {
    let router = try #require(router)
    var home = Sample.wifi("Home")
    home.gatewayMAC = .unknown(reason: "no neighbour entry")
    var tunnel = Sample.tunnel(rules: [Sample.rule(.gatewayMAC([router]), .disconnect), Sample.rule(.always, .connect)])
    tunnel.killSwitch = killSwitch
    let life = WatchedAgent(tunnel, on: Sample.network(home))
    // The kernel asks nobody by itself.
    var isAsked = false
    life.machine.neighbours.whenAsked = { _ in isAsked = true }
    life.start(for: .milliseconds(10))
    #expect(isAsked && life.machine.neighbours.requests == ["192.0.2.1 on wlan0"])
    home.gatewayMAC = .known(router)
    life.move(to: Sample.network(home))
    life.machine.run(for: .seconds(20))
    #expect(life.states.isEmpty)
    #expect(try life.tunnel().decision == .disconnect)
  }

  @Test("a gateway that does not answer is asked for a few times, and not without a need") func silentGateway() {
    var home = Sample.wifi("Home")
    home.gatewayMAC = .unknown(reason: "no neighbour entry")
    var inquiry = GatewayInquiry()
    let network = Sample.network(home)
    let moments = (0..<100).map { Moment(nanoseconds: $0 * 500_000_000) }
    #expect(moments.count { inquiry.next(on: network, needed: [.gatewayMAC], at: $0) != nil } == 3)
    inquiry = GatewayInquiry()
    #expect(inquiry.next(on: network, needed: [.ssid], at: moments[0]) == nil)
    home.gatewayMAC = .known(router)
    #expect(inquiry.next(on: Sample.network(home), needed: [.gatewayMAC], at: moments[0]) == nil)
  }

  @Test("a report of the network has the kernel ask for the gateway, also where no rule does") func report() {
    var home = Sample.wifi("Home")
    home.gatewayMAC = .unknown(reason: "no neighbour entry")
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)]), on: Sample.network(home))
    life.start(for: .seconds(1))
    life.agent.refresh()
    #expect(life.machine.neighbours.requests.isEmpty)
    life.machine.run(for: .seconds(1))
    life.agent.refresh(for: [.gatewayMAC])
    #expect(life.machine.neighbours.requests == ["192.0.2.1 on wlan0"])
  }

  @Test("a fact that no source can give is not waited for; one that may come is") func unavailable() throws {
    var link = Sample.wifi("Cafe")
    link.metered = .unknown(reason: "nothing on this host knows")
    let rules = [Sample.rule(.metered(true), .disconnect), Sample.rule(.always, .connect)]
    let pending = WatchedAgent(Sample.tunnel(rules: rules), on: Sample.network(link))
    pending.start(for: .milliseconds(100))
    #expect(try pending.tunnel().decision == .pending)
    link.unavailable = [.metered]
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: Sample.network(link))
    life.start(for: .milliseconds(100))
    #expect(try life.tunnel().decision == .connect && life.tunnel().state == "connected")
    // Beside one that may come, it is waited for that.
    link.bssid = .unknown(reason: "nl80211 is busy")
    let both = [Sample.rule(.all([.metered(true), .bssid([MACAddress("02:00:5e:10:00:01")].compactMap { $0 })]), .disconnect), rules[1]]
    let mixed = WatchedAgent(Sample.tunnel(rules: both), on: Sample.network(link))
    mixed.start(for: .milliseconds(100))
    #expect(try mixed.tunnel().decision == .pending)
  }

  @Test("an agent that starts on a running network waits for name servers before it looks for its gateway") func nameServers() throws {
    var link = Sample.wifi("Cafe")
    link.dnsServers = .unknown(reason: "systemd-resolved: it has not answered yet")
    let wireGuard = Sample.wireGuard(endpoint: "vpn.corp.example:51820")
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)], wireGuard: wireGuard), on: Sample.network(link))
    life.machine.dns.otherNames = Sample.address("203.0.113.10")
    life.start(for: .milliseconds(300))
    #expect(life.machine.dns.lookups.isEmpty && life.failures.isEmpty)
    link.dnsServers = .known([Sample.address("192.0.2.53")])
    life.machine.network = Sample.network(link)
    life.agent.factsCame()
    life.machine.run(for: .seconds(1))
    #expect(life.machine.dns.lookups == ["vpn.corp.example on wlan0 by 192.0.2.53"])
    #expect(try life.tunnel().state == "connected" && life.failures.isEmpty)
  }

  @Test("name servers that never come, and those that nobody can tell, hold nothing up") func noNameServers() throws {
    for isUnavailable in [false, true] {
      var link = Sample.wifi("Cafe")
      link.dnsServers = .unknown(reason: "nobody says")
      if isUnavailable { link.unavailable = [.dnsServers] }
      let wireGuard = Sample.wireGuard(endpoint: "vpn.corp.example:51820")
      let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)], wireGuard: wireGuard), on: Sample.network(link))
      life.machine.dns.otherNames = Sample.address("203.0.113.10")
      life.start(for: isUnavailable ? .milliseconds(10) : .seconds(6))
      #expect(life.machine.dns.lookups.count == 1)
    }
  }
}
