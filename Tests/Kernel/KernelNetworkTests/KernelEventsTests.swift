import Glibc
import KernelModel
import KernelNetwork
import LinuxIO
import NetworkTypes
import TestSupport
import Testing
import Wire

@Suite("Hearing the kernel", .needsNamespaces)
struct KernelEventsTests {
  private static func isReadable(_ descriptors: [Int32]) -> Bool {
    var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    return poll(&polled, nfds_t(polled.count), 0) > 0
  }

  /// Or else the end of duplicate address detection would be heard seconds later.
  private static let withoutIPv6 = "for i in all default; do echo 1 > /proc/sys/net/ipv6/conf/$i/disable_ipv6; done"

  private static func makeLink() throws {
    try shell(withoutIPv6 + "; ip link add lan0 type veth peer name far0")
    try move("ip link set far0 up; ip link set lan0 up", to: "UP")
  }

  /// Runs a command that changes the carrier of lan0, and waits for the operational state that follows. The kernel announces it up to a
  /// second after the command, on a loaded machine later.
  private static func move(_ command: String, to state: String) throws {
    try shell(command + "; until ip link show lan0 | grep -q 'state \(state)'; do sleep 0.01; done")
  }

  /// A TUN link of ours that is up. It has no carrier, which the kernel announces up to a second later, and nothing after that.
  private static let makeOwn = """
    ip tuntap add corp mode tun && ip link set corp alias roamward:corp && ip link set corp up
    until ip link show corp | grep -q 'state DOWN'; do sleep 0.01; done
    """

  @Test("each change tells its kind, and the next reading finds nothing")
  func reasons() throws {
    try inNamespaces {
      let events = try KernelEvents()
      #expect(events.descriptors.count == 2 && !Self.isReadable(events.descriptors))
      let gateway = try #require(IPAddress("192.0.2.1"))
      let reader = try KernelReader()
      func reasons(_ command: String) throws -> KernelChange.Reasons {
        try shell(command)
        let change = events.drain()
        #expect(!change.overflowed && events.drain().isQuiet)
        return change.reasons.subtracting(command.hasPrefix("ip link") ? [] : .links)
      }
      try shell(Self.withoutIPv6)
      #expect(try reasons("ip link add lan0 type veth peer name far0; ip link set far0 up; ip link set lan0 up").contains(.links))
      #expect(try reasons("ip address add 192.0.2.5/24 dev lan0").isSuperset(of: [.addresses, .routes]))
      #expect(try reasons("ip route add 198.51.100.0/24 via 192.0.2.1") == .routes)
      #expect(try reasons("ip route add 198.51.100.0/24 dev lan0 table 21001") == .routes)
      #expect(try reasons("ip rule add priority 5 lookup 21001") == .rules)
      #expect(try reasons("ip link set lan0 alias roamward:corp") == .links)
      // A neighbour counts where a default route needs it.
      #expect(try reasons("ip neighbour add 192.0.2.1 lladdr 02:aa:bb:cc:dd:ee dev lan0; ip neighbour del 192.0.2.1 dev lan0") == [])
      #expect(try reasons("ip route add default via 192.0.2.1 dev lan0") == .routes)
      let interest = EventInterest(try reader.read(), names: [])
      #expect(interest.gateways.values.map { $0 } == [[gateway: nil]])
      #expect(events.subscribe(to: interest) != .wider, "before, everything was heard")
      #expect(try reasons("ip neighbour add 192.0.2.1 lladdr 02:aa:bb:cc:dd:ee dev lan0") == .neighbours)
      // Changes that cannot matter.
      #expect(try reasons("ip neighbour add 192.0.2.2 lladdr 02:aa:bb:cc:dd:ef dev lan0") == [])
      #expect(try reasons("ip route add 198.51.100.0/24 dev lan0 table 777") == [])
      #expect(try reasons("ip route add 198.51.100.0/24 dev lan0 table 70000") == [])
      #expect(try reasons("ip route add 198.51.100.0/24 dev lan0 table 100") == [])
      #expect(try reasons("ip route add local 198.51.100.9 dev lan0 table local") == [])
    }
  }

  @Test("what was announced of our own objects before a read is no news after it; all else is, and a link that is gone")
  func held() throws {
    try inNamespaces {
      try Self.makeLink()
      try shell("ip address add 192.0.2.5/24 dev lan0; ip route add default via 192.0.2.1")
      let events = try KernelEvents()
      let reader = try KernelReader()
      let make = "ip tuntap add corp mode tun && ip link set corp alias roamward:corp && ip link set corp up && ip link set corp down"
      try shell(make)
      #expect(events.drain(known: try reader.read()).isOfOurs, "the link was up for a moment")
      try shell("ip link delete corp")
      _ = events.drain()

      try shell(make)
      #expect(events.hold() && !Self.isReadable(events.descriptors))
      let known = try reader.read()
      let change = events.drain(known: known)
      #expect(!change.isRelevant && change.events > 0, "\(change.reasons.rawValue)")
      // The kernel announces its missing carrier later, which must not come between the next drain and the look after it.
      try shell("ip link set corp up; until ip link show corp | grep -q 'state DOWN'; do sleep 0.01; done")
      #expect(events.drain(known: known).isOfOurs, "it comes after the read")

      try shell("ip link set corp mtu 1300; ip route delete default")
      #expect(events.hold())
      #expect(events.drain(known: known).reasons.contains(.routes) && !events.hold())
      try shell("ip link delete corp")
      #expect(events.hold())
      #expect(events.drain(known: try reader.read()).goneLinks.count == 1)
    }
  }

  @Test("since a read nothing has changed but by our own requests: not by another program's, a lost carrier, or what was lost")
  func confirms() throws {
    try inNamespaces {
      try Self.makeLink()
      try shell("ip address add 192.0.2.5/24 dev lan0; ip route add default via 192.0.2.1")
      try shell(Self.makeOwn)
      let (reader, applier) = (try KernelReader(), try KernelApplier())
      let events = try KernelEvents()
      func isAsRead(after change: () throws -> Void) throws -> Bool {
        _ = events.hold()
        let known = try reader.read()
        _ = events.subscribe(to: EventInterest(known, names: ["corp"]))
        try change()
        defer { _ = events.drain(known: known) }
        return events.confirm(known, changedBy: applier.port)
      }
      let table = Ownership.tables.lowerBound
      func apply(_ steps: [Step]) { #expect(applier.apply(steps).failures.isEmpty) }
      let route = Route(to: try #require(IPPrefix("10.0.0.0/8")), on: "corp", table: table)
      let rule = RoutingRule(family: .v4, priority: Ownership.rules.lowerBound, table: table)
      #expect(try isAsRead {})
      #expect(try isAsRead { apply([.addRoute(route), .addRule(rule)]) })
      #expect(try !isAsRead { try shell("ip route delete 10.0.0.0/8 table \(table)") }, "another program removes our route")
      #expect(try !isAsRead { try shell("ip rule delete priority \(Ownership.rules.lowerBound)") })
      #expect(try !isAsRead { try Self.move("ip link set far0 down", to: "LOWERLAYERDOWN") }, "the carrier is lost")
      #expect(try !isAsRead { try Self.move("ip link set far0 up", to: "UP") })
      #expect(try !isAsRead { try shell("ip route replace default via 192.0.2.2") })
      #expect(try !isAsRead { try shell("ip link delete corp") })
      // A change that no observation reads does not count.
      #expect(try isAsRead { try shell("ip route add 198.51.100.0/24 dev lan0 table 777") })
      #expect(
        try !isAsRead { try shell("for i in $(seq 250); do ip route add 198.51.100.$i dev lan0; ip route delete 198.51.100.$i; done") },
        "more than is looked at")
    }
  }

  @Test("a link-local address that the kernel gives a link of ours is no change; another address is, and the removal of any")
  func kernelsOwnAddress() throws {
    try inNamespaces {
      try Self.makeLink()
      let events = try KernelEvents()
      let reader = try KernelReader()
      try shell(Self.makeOwn)
      try shell("ip link set lan0 addrgenmode none; for i in corp lan0; do echo 0 > /proc/sys/net/ipv6/conf/$i/disable_ipv6; done")
      let known = try reader.read()
      _ = events.drain(known: known)
      // The kernel announces an address from a queue of work: later where other tests hold its lock.
      func isHeard(_ command: String, since known: KernelState, wants: Bool) throws -> Bool {
        try shell(command)
        var (count, isFound) = (0, false)
        let end = Moment.now + .seconds(20)
        while wants ? !isFound : count == 0, Moment.now < end {
          let change = events.drain(known: known)
          count += change.events
          isFound = isFound || change.reasons.contains(.addresses)
          usleep(10_000)
        }
        #expect(count > 0, "\(command)")
        return isFound
      }
      #expect(try !isHeard("ip -6 address add fe80::99/64 dev corp noprefixroute nodad; sleep 0.2", since: known, wants: false))
      #expect(try isHeard("ip -6 address add fe80::99/64 dev lan0 noprefixroute nodad", since: known, wants: true))
      #expect(try isHeard("ip -6 address add 2001:db8::99/64 dev corp noprefixroute nodad", since: known, wants: true))
      let now = try reader.read()
      #expect(try isHeard("ip -6 address delete fe80::99/64 dev corp", since: now, wants: true))
    }
  }

  @Test("a full buffer says that events were lost, once")
  func overflow() throws {
    try inNamespaces {
      try Self.makeLink()
      let events = try KernelEvents(receiveBuffer: 4096)
      _ = events.drain()
      let applier = try KernelApplier()
      #expect(applier.apply(routeSteps(500)).allSatisfy { $0.error == nil })
      #expect(events.drain().overflowed)
      #expect(events.drain().isQuiet)
      try shell("ip route add 198.51.100.0/24 dev lan0")
      let change = events.drain()
      #expect(change.reasons.contains(.routes) && !change.overflowed)
    }
  }

  @Test("a storm in a foreign table does not even fill a tiny buffer, for the kernel drops it")
  func foreignStorm() throws {
    try inNamespaces {
      try Self.makeLink()
      let events = try KernelEvents(receiveBuffer: 4096)
      _ = events.drain()
      try shell("for i in $(seq 0 1999); do echo route add 10.1.$((i / 256)).$((i % 256)) dev lan0 table 777; done | ip -batch -")
      #expect(events.drain().isQuiet)
    }
  }

  @Test("five thousand events of our own fit the buffer that an agent uses")
  func largeBuffer() throws {
    try inNamespaces {
      try Self.makeLink()
      let events = try KernelEvents()
      _ = events.drain()
      #expect(try KernelApplier().apply(routeSteps(5000)).allSatisfy { $0.error == nil })
      let change = events.drain()
      #expect(change.reasons.contains(.routes) && !change.overflowed)
      #expect(events.drain().isQuiet)
    }
  }
}

extension KernelChange {
  /// Nothing but links, whose carrier the kernel announces up to a second late.
  fileprivate var isQuiet: Bool { !overflowed && reasons.subtracting(.links).isEmpty }
}
