import Glibc
import KernelModel
import KernelNetwork
import NetworkTypes
import RoamwardCore
import TestSupport
import Testing
import Wire

/// A network as a laptop with containers has it; what is announced about it, and what of that wakes anybody.
@Suite("Hearing only what can matter", .needsNamespaces)
struct EventInterestTests {
  private static let laptop = """
    set -e
    for i in all default; do echo 0 > /proc/sys/net/ipv6/conf/$i/accept_dad; done
    ip link add lan0 type veth peer name far0; ip link set far0 up; ip link set lan0 up
    ip address add 192.0.2.5/24 dev lan0; ip address add 2001:db8::5/64 dev lan0
    ip route add default via 192.0.2.1 dev lan0
    ip neighbour add 192.0.2.1 lladdr 02:aa:bb:cc:dd:ee dev lan0 nud reachable
    ip link add docker0 address 02:00:00:00:00:d0 type bridge; ip link add first0 type veth peer name first1
    ip link set first0 up; ip link set first1 master docker0 up; ip link set docker0 up; ip address add 172.31.0.1/24 dev docker0
    # Carriers, and the link-local addresses that follow them, come late, and later still on a loaded machine.
    for i in lan0 far0 first0 first1 docker0; do
      for n in $(seq 2000); do ip link show $i | grep -q 'state UP' && break; sleep 0.01; done
      for n in $(seq 500); do ip -6 address show dev $i scope link | grep -q inet6 && break; sleep 0.01; done
    done
    """

  /// Hears what an agent on that laptop would, with the links of its tunnels.
  private final class Listener {
    let events: KernelEvents
    private let reader: KernelReader
    private let names: Set<String>
    private(set) var seen = KernelState()

    init(names: Set<String> = []) throws {
      try shell(EventInterestTests.laptop)
      (events, reader, self.names) = (try KernelEvents(), try KernelReader(), names)
      // The kernel's announcements after that come up to a second late.
      var quiet = 0
      for _ in 1...200 where quiet < 12 {
        let before = seen
        try look()
        quiet = seen == before ? quiet + 1 : 0
        usleep(100_000)
      }
    }

    func look() throws {
      repeat { seen = try reader.read() } while events.subscribe(to: EventInterest(seen, names: names)) == .wider || events.narrow()
      _ = events.drain()
    }

    /// Looks once, and leaves the kernel's filter as it is where it covers what is seen.
    func look(expecting subscription: KernelEvents.Subscription) throws {
      seen = try reader.read()
      #expect(events.subscribe(to: EventInterest(seen, names: names)) == subscription)
      _ = events.drain()
    }

    /// The change that a command announces: how many events reach us, and whether one of them matters.
    func hears(_ command: String, for milliseconds: useconds_t = 50) throws -> KernelChange {
      try shell(command)
      usleep(milliseconds * 1000)
      return events.drain(known: seen)
    }
  }

  @Test(
    "what cannot matter does not even arrive",
    arguments: [
      "for i in 1 2 3; do ip link add c$i type veth peer name p$i; ip link set p$i master docker0; ip link set c$i up; ip link set p$i up; done; sleep 0.3; for i in 1 2 3; do ip link del c$i; done",
      "for i in first0 default lo; do echo 1 >/proc/sys/net/ipv4/conf/$i/rp_filter; done; echo 1 >/proc/sys/net/ipv4/conf/lan0/forwarding",
      "ip neighbour add 192.0.2.9 lladdr 02:aa:bb:cc:dd:01 dev lan0; ip neighbour del 192.0.2.9 dev lan0",
      "ip neighbour add 172.31.0.9 lladdr 02:aa:bb:cc:dd:01 dev docker0; ip neighbour del 172.31.0.9 dev docker0",
      "for s in stale delay reachable stale probe reachable; do ip neighbour replace 192.0.2.1 lladdr 02:aa:bb:cc:dd:ee dev lan0 nud $s; done",
      "ip route add 198.51.100.0/24 dev lan0 table 777; ip route del 198.51.100.0/24 dev lan0 table 777",
      "ip link add dummy9 type veth peer name dummy8; ip link set dummy9 name renamed9; ip link del renamed9",
    ])
  func noise(command: String) throws {
    try inNamespaces {
      let listener = try Listener()
      let change = try listener.hears(command)
      #expect(change.events == 0 && !change.isRelevant, "\(change)")
    }
  }

  @Test(
    "what tells nothing new arrives and does not matter",
    arguments: [
      "ip link set lan0 up", "ip link set lan0 promisc on", "ip address replace 192.0.2.5/24 dev lan0",
      "ip address change 2001:db8::5/64 dev lan0 valid_lft forever",
      "ip route replace default via 192.0.2.1 dev lan0",
    ])
  func duplicates(command: String) throws {
    try inNamespaces {
      let listener = try Listener()
      #expect(try !listener.hears(command).isRelevant)
    }
  }

  @Test(
    "what matters is heard",
    arguments: [
      ("ip link set lan0 down", .links),
      ("ip link set far0 down; until ip link show lan0 | grep -q 'state LOWERLAYERDOWN'; do sleep 0.01; done", .links),
      ("ip link set lan0 mtu 1400", .links),
      ("ip link set lan0 name lan7", .links), ("ip link del lan0", .links), ("ip address del 192.0.2.5/24 dev lan0", .addresses),
      ("ip link add new0 type veth peer name new1; ip address add 198.51.100.7/24 dev new0", .addresses),
      (
        "ip link add new0 type veth peer name new1; ip link set new0 up; ip link set new1 up; ip route add 198.51.100.0/24 dev new0",
        .routes
      ),
      ("ip link add tun7 type veth peer name new1", .links),
      ("ip link add new0 type veth peer name new1; ip link set new0 name tun7", .links),
      ("ip neighbour replace 192.0.2.1 lladdr 02:aa:bb:cc:dd:ff dev lan0 nud reachable", .neighbours),
      ("ip neighbour del 192.0.2.1 dev lan0", .neighbours), ("ip route del default", .routes),
      ("ip route add 198.51.100.0/24 dev lan0 table 21000", .routes), ("ip route add 198.51.100.0/24 dev lan0 table 21999", .routes),
      ("ip rule add priority 9 lookup 21000", .rules), ("ip -6 route add default via fe80::1 dev lan0", .routes),
      ("echo 1 >/proc/sys/net/ipv4/conf/lan0/rp_filter", .settings), ("echo 2 >/proc/sys/net/ipv4/conf/all/rp_filter", .settings),
    ] as [(String, KernelChange.Reasons)])
  func news(command: String, reason: KernelChange.Reasons) throws {
    try inNamespaces {
      let listener = try Listener(names: ["tun7", "tunnel-of-mine"])
      let change = try listener.hears(command)
      #expect(change.reasons.isSuperset(of: reason), "\(change)")
    }
  }

  @Test("ports count where the primary link is made of them")
  func ports() throws {
    try inNamespaces {
      let listener = try Listener()
      // The kernel announces its link-local address from a queue of work, later where other tests hold its lock.
      try shell(
        """
        ip link add br0 type bridge; ip link set br0 up
        for n in $(seq 500); do ip -6 address show dev br0 scope link -tentative | grep -q inet6 && break; sleep 0.01; done
        ip address add 198.51.100.7/24 dev br0; ip route add default via 198.51.100.1 dev br0 metric 5
        """)
      try listener.look()
      #expect(try listener.hears("ip link add new0 type veth peer name new1").events == 0)
      #expect(try listener.hears("ip link set new0 master br0").reasons.contains(.links))
      try listener.look()
      #expect(try listener.hears("ip link set new0 up").reasons.contains(.links))
    }
  }

  @Test("what is heard for the first time is read again, so that nothing falls in between")
  func widening() throws {
    try inNamespaces {
      let listener = try Listener()
      let before = EventInterest(listener.seen, names: [])
      try shell("ip link add new0 type veth peer name new1; ip address add 198.51.100.7/24 dev new0")
      let after = EventInterest(try KernelReader().read(), names: [])
      #expect(after.covers(before) && !before.covers(after))
      #expect(listener.events.subscribe(to: after) == .wider && listener.events.subscribe(to: after) == .unchanged)
      #expect(listener.events.subscribe(to: before) == .inexact, "less is heard: nothing can have been missed")
      #expect(try listener.hears("ip link set new1 mtu 1400; ip link set new0 mtu 1400").events > 0, "until it is narrowed")
      #expect(!listener.events.narrow(), "nor now")
      #expect(try listener.hears("ip link set new0 mtu 1300").events == 0)
    }
  }

  @Test("a link that tunnels need is heard before its index is known, and need not be read again")
  func named() throws {
    try inNamespaces {
      let listener = try Listener(names: ["tun7"])
      try shell("ip link add tun7 type veth peer name new1; ip address add 198.51.100.7/24 dev tun7; ip link set tun7 up")
      // Its carrier and its link-local address come late.
      usleep(1_200_000)
      try listener.look(expecting: .inexact)
      for news in ["ip link set tun7 mtu 1400", "ip address del 198.51.100.7/24 dev tun7", "ip link set tun7 down"] {
        #expect(try listener.hears(news).isRelevant, "\(news)")
      }
      #expect(try listener.hears("ip link set tun7 name tun8").events == 0, "the announcement has the new name alone")
      #expect(listener.events.narrow(), "so what was read has to be confirmed")
      #expect(try listener.hears("ip link set tun8 mtu 1300").isRelevant)
    }
  }

  @Test("a default route on a link that carries addresses makes nothing heard that was not before")
  func defaultRoute() throws {
    try inNamespaces {
      let listener = try Listener()
      try shell("ip route del default")
      try listener.look()
      try shell("ip route add default via 192.0.2.1 dev lan0")
      let after = EventInterest(try KernelReader().read(neighbours: false), names: [], hearsGateways: false)
      #expect(listener.events.subscribe(to: after) != .wider)
    }
  }

  @Test("an interest that is too long for the kernel is judged here")
  func tooLong() throws {
    try inNamespaces {
      let listener = try Listener()
      let links = Set((1...3000).compactMap { InterfaceIndex(UInt32($0) + 10_000) })
      #expect(listener.events.subscribe(to: EventInterest(links: links)) == .wider)
      let change = try listener.hears("ip link add new0 type veth peer name new1")
      #expect(change.events > 0 && !change.isRelevant)
    }
  }

  @Test("a device of the same index and name is told from the one before; one that is moved away is gone")
  func generations() throws {
    try inNamespaces {
      let listener = try Listener()
      var generations = LinkGenerations()
      func device() throws -> DeviceIdentity? {
        for gone in listener.events.drain(known: listener.seen).goneLinks { generations.linkIsGone(gone) }
        var links = try KernelReader().read().links
        generations.identify(&links)
        return links.first { $0.address?.description == "02:00:00:00:00:77" }?.device
      }
      let make = "ip link add new0 index 77 address 02:00:00:00:00:77 type veth peer name new1; ip address add 198.51.100.7/24 dev new0"
      try shell(make)
      try listener.look()
      let first = try device()
      #expect(try first != nil && device() == first, "as long as nothing happens")
      try shell("ip link set new0 name other0")
      #expect(try device() == first, "renamed")
      try shell("ip link set other0 name new0")
      try shell("ip link del new0; \(make)")
      let second = try device()
      #expect(second?.index == first?.index && second != first, "deleted and made again between two looks")
      try listener.look()
      try shell(
        """
        unshare --net sleep 30 & other=$!; own=$(readlink /proc/self/ns/net)
        while [ "$(readlink /proc/$other/ns/net)" = "$own" ]; do sleep 0.01; done; ip link set new0 netns $other; kill $other
        """)
      #expect(try device() == nil, "moved into another namespace: gone")
    }
  }
}

/// Without a kernel: what a machine may have that this one lacks.
@Suite struct CarryingLinksTests {
  private func link(_ index: UInt32, _ name: String, kind: String? = nil, master: UInt32? = nil, lower: UInt32? = nil) throws -> Link {
    var link = Link(index: try #require(InterfaceIndex(index)), name: name, kind: kind, master: master.flatMap(InterfaceIndex.init))
    link.lower = lower.flatMap(InterfaceIndex.init)
    return link
  }

  @Test("a VLAN on a bond is carried by the bond and its ports; the other end of a virtual cable carries nothing") func closure() throws {
    let links = [
      try link(2, "eth0", master: 4), try link(3, "eth1", master: 4), try link(4, "bond0", kind: "bond"),
      try link(5, "vlan7", kind: "vlan", lower: 4), try link(6, "veth0", kind: "veth", lower: 7),
      try link(7, "veth1", kind: "veth", lower: 6),
      try link(8, "eth2"),
    ]
    let everything = try #require(IPPrefix("0.0.0.0/0"))
    let routes = ["vlan7", "veth0"].map { Route(to: everything, via: IPAddress("192.0.2.1"), on: $0, routeProtocol: 3) }
    let interest = EventInterest(KernelState(links: links, routes: routes), names: [])
    #expect(interest.links.map(\.value).sorted() == [2, 3, 4, 5, 6])
    #expect(interest.masters.map(\.value).sorted() == [4, 5], "hardware and the ends of a veth never have ports")
  }

  /// `RTM_NEWLINK` of link 5, up with carrier, named vlan7, lying on `lower`.
  private func announcement(lower: UInt32) -> NetlinkMessage {
    func host(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }
    func attribute(_ type: UInt16, _ payload: [UInt8]) -> [UInt8] {
      withUnsafeBytes(of: UInt16(4 + payload.count)) { Array($0) } + withUnsafeBytes(of: type) { Array($0) } + payload
        + [UInt8](repeating: 0, count: (4 - payload.count % 4) % 4)
    }
    let header: [UInt8] = [0, 0] + withUnsafeBytes(of: UInt16(1)) { Array($0) } + host(5) + host(0x10001) + host(0)
    let attributes = attribute(3, Array("vlan7".utf8) + [0]) + attribute(4, host(1500)) + attribute(5, host(lower))
    return NetlinkMessage(type: LinkMessage.new, payload: (header + attributes)[...])
  }

  @Test("a link that lies on another one than before is news, the same once more is not") func lies() throws {
    var known = try link(5, "vlan7", lower: 4)
    known.flags = 0x10001
    let relevance = EventRelevance(interest: EventInterest(links: [known.index]), known: KernelState(links: [known]))
    #expect(relevance.reason(of: announcement(lower: 4)) == [])
    #expect(relevance.reason(of: announcement(lower: 3)) == .links)
  }
}
