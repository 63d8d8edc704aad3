import HostServices
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import Testing

@Suite("What services of the bus say")
struct BusReportTests {
  private static func texts(_ values: String...) -> BusValue { .list(values.map { .text($0) }) }

  @Test("systemd-resolved: servers and domains by link; those of the whole host are nobody's") func resolved() throws {
    let properties: BusValue = .dictionary([
      "DNS": .list([
        .list([.integer(2), .integer(2), .bytes([192, 0, 2, 1])]), .list([.integer(0), .integer(2), .bytes([203, 0, 113, 1])]),
        .list([.integer(2), .integer(10), .bytes([0x20, 0x01, 0x0d, 0xb8] + Array(repeating: 0, count: 11) + [1])]),
        .list([.integer(3), .integer(2), .bytes([1, 2, 3])]), .list([]), .text("?"),
      ]),
      "Domains": .list([
        .list([.integer(2), .text("cafe.example"), .bool(false)]), .list([.integer(2), .text("."), .bool(true)]),
        .list([.integer(4), .text("corp.example"), .bool(true)]),
      ]),
    ])
    let links = try #require(resolvedLinks(properties))
    #expect(links[2]?.servers.map(\.description) == ["192.0.2.1", "2001:db8::1"] && links[2]?.domains.map(\.text) == ["cafe.example"])
    #expect(links[4] == LinkDNS(routingDomains: [try #require(DomainName("corp.example"))]) && links.count == 2)
    #expect(resolvedLinks(.dictionary([:])) == nil && resolvedLinks(.text("no")) == nil)
  }

  /// The shape is that of NetworkManager 1.42.
  private static let objects: BusValue = .dictionary([
    "/org/freedesktop/NetworkManager": .dictionary([
      "org.freedesktop.NetworkManager": .dictionary(["Connectivity": .unsigned(4), "ConnectivityCheckEnabled": .bool(true)])
    ]),
    "/d/2": .dictionary([
      "org.freedesktop.NetworkManager.Device": .dictionary([
        "Interface": .text("lan0"), "IpInterface": .text("lan0"), "HwAddress": .text("16:76:B6:33:98:A0"), "State": .unsigned(100),
        "Metered": .unsigned(4), "Ip4Config": .text("/c/4"), "Ip6Config": .text("/c/6"), "Ip4Connectivity": .unsigned(2),
        "Ip6Connectivity": .unsigned(1),
      ])
    ]),
    "/c/4": .dictionary([
      "org.freedesktop.NetworkManager.IP4Config": .dictionary([
        "NameserverData": .list([.dictionary(["address": .text("192.0.2.1")]), .dictionary(["address": .text("192.0.2.2")])]),
        "Nameservers": .list([.unsigned(16_908_480)]), "Domains": texts("cafe.example"), "Searches": texts("a.cafe.example", "~x.example"),
      ])
    ]),
    "/c/6": .dictionary([
      "org.freedesktop.NetworkManager.IP6Config": .dictionary([
        "Nameservers": .list([.bytes([0x20, 0x01, 0x0d, 0xb8] + Array(repeating: 0, count: 11) + [1])]), "Domains": texts(),
      ])
    ]),
    "/d/3": .dictionary([
      "org.freedesktop.NetworkManager.Device": .dictionary([
        "Interface": .text("cdc-wdm0"), "IpInterface": .text("wwan0"), "State": .unsigned(30), "Metered": .unsigned(3),
      ])
    ]),
  ])

  @Test("NetworkManager: devices by the link that carries addresses") func networkManager() throws {
    let words = try #require(networkManagerReport(Self.objects))
    let lan = try #require(words.devices["lan0"])
    #expect(words.checksConnectivity && words.devices.keys.sorted() == ["lan0", "wwan0"])
    #expect(lan.state == .active && lan.metered == 4 && lan.connectivity == 2 && lan.address == MACAddress("16:76:b6:33:98:a0"))
    #expect(lan.dns.servers.map(\.description) == ["192.0.2.1", "192.0.2.2", "2001:db8::1"])
    #expect(lan.dns.domains.map(\.text) == ["cafe.example", "a.cafe.example"] && lan.dns.routingDomains.map(\.text) == ["x.example"])
    #expect(words.devices["wwan0"]?.state == .inactive && words.devices["wwan0"]?.connectivity == 4)
    #expect(networkManagerReport(.dictionary([:])) == nil)
  }
}
