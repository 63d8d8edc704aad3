import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// Facts that no source of a host can give, told from those that are still to come.
@Suite struct UnavailableFactTests {
  /// A machine on one link with a gateway.
  private func snapshot(flags: UInt32 = 0x1_0001, _ host: HostReports = HostReports()) throws -> NetworkSnapshot {
    let link = Link(index: Sample.index(2), name: "eth0", flags: flags)
    let kernel = KernelState(
      links: [link], addresses: [LinkAddress(link: "eth0", address: Sample.own("192.0.2.23/24"))],
      routes: [Route(to: .everything(.v4), via: Sample.address("192.0.2.1"), on: "eth0", routeProtocol: 3)])
    let sources = SnapshotInputs(
      kernel: kernel, mediums: [link.index: Medium(.ethernet, reason: "test", carrier: link.index)], host: host)
    return NetworkSnapshot(sources)
  }

  @Test("metered: without NetworkManager nobody tells; while it has still to answer, somebody may") func metered() throws {
    let silent = try #require(try snapshot().primaryLink)
    #expect(silent.metered.value == nil && silent.unavailable.contains(.metered) && !silent.isAwaiting(.metered))
    let host = HostReports(networkManager: .pending(reason: "it has not answered yet"))
    let pending = try #require(try snapshot(host).primaryLink)
    #expect(pending.metered.value == nil && !pending.unavailable.contains(.metered) && pending.isAwaiting(.metered))
    #expect(try snapshot().unavailable == [.captivePortal, .internet])
    #expect(try snapshot(host).unavailable == [])
  }

  @Test("gateway-mac: it comes, unless the link has no hardware addresses") func gatewayMAC() throws {
    #expect(try #require(try snapshot().primaryLink).isAwaiting(.gatewayMAC))
    #expect(try #require(try snapshot(flags: 0x1_0081).primaryLink).unavailable.contains(.gatewayMAC))
  }
}
