import KernelModel
import NetworkTypes
import Testing

@testable import HostDNS

@Suite("Which changes of settings the name server's process has to know") struct NameServerRulesTests {
  private static func names(_ texts: String...) -> [DomainName] { texts.compactMap { DomainName($0) } }
  private static func addresses(_ texts: String...) -> [IPAddress] { texts.compactMap { IPAddress($0) } }

  /// Names in corp.example start corp; the network's server is 198.51.100.1.
  private static var watched: NameServerSettings {
    var settings = NameServerSettings(network: addresses("198.51.100.1"), place: "cafe")
    let entry = NameWatch.Entry(domains: names("corp.example"), fate: .always)
    settings.watches = [NameWatch(tunnel: "corp", servers: addresses("10.77.0.1"), entries: [entry])]
    return settings
  }

  private static func share(_ tunnel: String, _ server: String, _ domains: String...) -> NameServerSettings.Share {
    NameServerSettings.Share(tunnel: tunnel, servers: addresses(server), domains: domains.compactMap { DomainName($0) })
  }

  @Test("a watched tunnel that comes up and has its own names: none") func connected() {
    var up = Self.watched
    up.watches[0].progress = .connected
    up.shares = [Self.share("corp", "10.77.0.1", "corp.example")]
    #expect(Self.watched.treatsNames(as: up) && up.treatsNames(as: Self.watched))
  }

  @Test(
    "other names, another tunnel, network, server or way: the whole",
    arguments: [
      { $0.shares = [share("corp", "10.77.0.1", "corp.example", "lab.example")] },
      { $0.shares = [share("lab", "10.88.0.1", "lab.example")] },
      { $0.place = "mobile" }, { $0.network = addresses("198.51.100.2") }, { $0.asksNetworkInside = true },
      { $0.blocked = [IPPrefix("10.77.0.0/16")].compactMap { $0 } }, { $0.refused = names("secret.example") },
      { $0.watches[0].servers = addresses("10.77.0.2") }, { $0.watches[0].entries[0].fate = .never },
      { $0.searchDomains = names("cafe.example") }, { $0.rebindAllowed = names("home.example") },
      { $0.listensAt = NameServerSettings.addressOnLink },
    ] as [@Sendable (inout NameServerSettings) -> Void])
  func changed(_ change: @Sendable (inout NameServerSettings) -> Void) {
    var other = Self.watched
    change(&other)
    #expect(!Self.watched.treatsNames(as: other) && !other.treatsNames(as: Self.watched))
  }
}
