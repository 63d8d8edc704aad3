import Glibc
import KernelModel
import NetworkTypes
import RoamwardCore
import Synchronization
import TestSupport
import Testing
import Wire

@testable import KernelNetwork

@Suite("Reading the kernel", .needsNamespaces)
struct KernelReaderTests {
  @Test("a link that a step names is read alone, once, by its own name")
  func linkOfStep() throws {
    try inNamespaces {
      try shell("ip link add lan0 type veth peer name far0; ip link property add dev lan0 altname other0")
      let (real, socket) = (try NetlinkSocket(.route), try NetlinkSocket(.route))
      let requests = Mutex<[[UInt8]]>([])
      socket.interpose(
        NetlinkSocket.Carrier(
          send: { bytes throws(NetlinkError) in
            requests.withLock { $0.append(bytes) }
            try real.state.withLock { state throws(NetlinkError) in try state.send(bytes, what: "ask") }
          }, receive: { () throws(NetlinkError) in try real.receive() }), patience: 20)
      var links = LinkTable()
      let index = try #require(try links.index(named: "lan0", socket))
      #expect(try if_nametoindex("lan0") == index && links.link(named: "lan0", socket)?.kind == "veth")
      #expect(requests.withLock { $0.count } == 1)
      for name in ["other0", "gone0", "", "a-name-of-sixteen"] { #expect(try links.index(named: name, socket) == nil) }
      // NLM_F_DUMP.
      #expect(requests.withLock { $0.allSatisfy { $0[7] & 0x03 == 0 } })
    }
  }

  /// The changes that a subscription newly announces: see `EventRelevance`. Those that were announced before are not read.
  @Test("a second look finds each change that was not announced before")
  func confirms() throws {
    try inNamespaces {
      try shell(
        """
        set -e
        ip link add lan0 type veth peer name far0
        ip link set lan0 addrgenmode none; ip link set far0 addrgenmode none
        ip link set lan0 up; ip link set far0 up
        until ip link show lan0 | grep -q 'state UP'; do sleep 0.01; done
        ip address add 192.0.2.5/24 dev lan0
        ip route add default via 192.0.2.1 dev lan0
        ip -6 route add 2001:db8:1::/64 dev lan0
        ip -6 route add 2001:db8:2::/64 dev lan0
        ip route add throw 10.0.0.0/8 table 21003 proto 82
        ip rule add priority 21003 lookup 21003 protocol 82
        """)
      let reader = try KernelReader()
      let changes = [
        "ip -6 address add fe80::77/64 dev lan0 nodad", "ip -6 route add fe80:1::/64 dev lan0", "ip -6 route delete 2001:db8:1::/64",
        "ip -6 route delete 2001:db8:2::/64; ip -6 route add 2001:db8:3::/64 dev lan0",
        "ip neighbour add 192.0.2.1 lladdr 02:aa:bb:cc:dd:ee dev lan0", "ip link set lan0 mtu 1400",
        // The kernel looks after the carrier later, and the operational state with it.
        "ip link set far0 down; until ip link show lan0 | grep -q 'state LOWERLAYERDOWN'; do sleep 0.01; done",
        "ip link add br0 type bridge", "ip link delete lan0",
      ]
      for change in changes {
        let known = try reader.read()
        #expect(try reader.confirms(known, neighbours: true), "before: \(change)")
        try shell(change)
        #expect(try !reader.confirms(known, neighbours: true), "after: \(change)")
      }
    }
  }

  @Test("links, addresses, routes, rules and neighbours come out as ip(8) made them")
  func everything() throws {
    let state = try inNamespaces {
      try shell(
        """
        set -e
        ip link add lan0 type veth peer name far0
        ip link set lan0 address 02:00:00:00:00:01 mtu 1400 alias 'roamward:corp' up
        ip link set far0 up
        ip link add br0 type bridge; ip link set far0 master br0; ip link set br0 up
        ip address add 192.0.2.5/24 dev lan0
        ip address add 10.9.0.1 peer 10.9.0.2/32 dev lan0
        ip address add 2001:db8::5/64 dev lan0 nodad
        ip route add default via 192.0.2.1 dev lan0 metric 50
        ip route add 198.51.100.0/24 nexthop via 192.0.2.7 dev lan0 nexthop via 192.0.2.8 dev lan0
        ip route add 203.0.113.0/24 via inet6 fe80::9 dev lan0
        ip -6 route add default via 2001:db8::1 dev lan0
        ip -6 route add unreachable 2001:db8:bad::/48 table 21003 proto 82
        ip route add throw 10.0.0.0/8 table 21003 proto 82
        ip route add blackhole 172.16.0.0/12 table 777
        ip route add 9.9.9.9 dev lan0 table 21500
        ip rule add priority 21003 not fwmark 0x52000000/0xff000000 lookup 21003 protocol 82
        ip rule add priority 400 fwmark 7 lookup 777
        ip -6 rule add priority 21003 not fwmark 0x52000000/0xff000000 lookup 21003 protocol 82
        ip neighbour add 192.0.2.1 lladdr 02:aa:bb:cc:dd:ee dev lan0
        ip neighbour add 2001:db8::1 lladdr 02:aa:bb:cc:dd:ef dev lan0
        """)
      return try KernelReader().read()
    }
    let lan = try #require(state.link(named: "lan0"))
    #expect(lan.kind == "veth" && lan.mtu == 1400 && lan.alias == "roamward:corp" && lan.isUp && lan.hasCarrier)
    #expect(lan.address?.description == "02:00:00:00:00:01" && lan.hardwareType == 1 && lan.master == nil)
    let bridge = try #require(state.link(named: "br0"))
    #expect(bridge.kind == "bridge")
    #expect(state.link(named: "far0")?.master == bridge.index)
    #expect(state.link(named: "lo")?.isLoopback == true)

    let addresses = Set(state.addresses.filter { $0.link == "lan0" }.map(\.address.description))
    #expect(addresses.isSuperset(of: ["192.0.2.5/24", "10.9.0.1/32", "2001:db8::5/64"]))
    #expect(state.addresses.contains { $0.link == "lo" && $0.address.description == "127.0.0.1/8" })

    let routes = state.routes.filter { $0.routeProtocol == 3 || $0.routeProtocol == 82 }.map(\.description)
    #expect(
      Set(routes) == [
        "default via 192.0.2.1 dev lan0 proto 3 metric 50", "198.51.100.0/24 via 192.0.2.7 dev lan0 proto 3",
        "203.0.113.0/24 via fe80::9 dev lan0 proto 3", "default via 2001:db8::1 dev lan0 proto 3 metric 1024",
        "unreachable 2001:db8:bad::/48 table 21003 proto 82 metric 1024", "throw 10.0.0.0/8 table 21003 proto 82",
      ])
    #expect(state.routes.allSatisfy { $0.table == 254 || $0.table == 21003 }, "table 777 is not ours, and no rule of ours names 21500")

    for family in IPAddress.Family.allCases {
      let rule = RoutingRule(family: family, priority: 21003, table: 21003, mark: 0x5200_0000, mask: 0xff00_0000, isInverted: true)
      #expect(state.rules.contains(rule))
    }
    #expect(state.rules.contains(RoutingRule(family: .v4, priority: 400, table: 777, mark: 7, mask: 0xffff_ffff, routeProtocol: 0)))
    #expect(state.rules.contains { $0.priority == 0 && $0.table == 255 })

    #expect(
      Set(state.neighbours.filter { $0.macAddress != nil }.map { "\($0.link) \($0.address) \($0.macAddress?.description ?? "")" })
        == ["lan0 192.0.2.1 02:aa:bb:cc:dd:ee", "lan0 2001:db8::1 02:aa:bb:cc:dd:ef"])
  }

  @Test("a table is read when asked for, and one that does not exist is empty")
  func tables() throws {
    try inNamespaces {
      try shell("ip link add lan0 type veth peer name far0; ip link set lan0 up; ip route add 9.9.9.9 dev lan0 table 21500")
      let reader = try KernelReader()
      #expect(try reader.readRoutes(table: 21500).map(\.destination.description) == ["9.9.9.9/32"])
      #expect(try reader.readRoutes(table: 21501).isEmpty)
      #expect(try reader.read(extraTables: [21500]).routes.contains { $0.table == 21500 })
      #expect(try !reader.read().routes.contains { $0.table == 21500 })
    }
  }

  @Test("a route whose link lost its carrier is dead")
  func deadRoutes() throws {
    let state = try inNamespaces {
      try shell(
        """
        ip link add lan0 type veth peer name far0; ip link set lan0 up; ip link set far0 up
        ip address add 192.0.2.5/24 dev lan0; ip route add default via 192.0.2.1; ip link set far0 down
        """)
      let reader = try KernelReader()
      // The kernel takes up to a second to mark what a lost carrier means, on a loaded machine longer.
      for _ in 1...200 {
        if try reader.read().routes.allSatisfy(\.isDead) { break }
        usleep(100_000)
      }
      return try reader.read()
    }
    #expect(state.routes.first { $0.destination.length == 0 }?.isDead == true)
    #expect(state.link(named: "lan0")?.hasCarrier == false)
  }

  @Test("a table that changes all the while is read whole, or the reading gives up with a reason")
  func interruption() throws {
    try inNamespaces {
      try shell("ip link add lan0 type veth peer name far0; ip link set lan0 up")
      try shell("for i in $(seq 0 3999); do echo route add 10.1.$((i / 256)).$((i % 256)) dev lan0 table 21500; done | ip -batch -")
      let reader = try KernelReader()
      let change = "route add 10.0.0.1 dev lan0 table 21500\\nroute del 10.0.0.1 dev lan0 table 21500\\n"
      guard let churn = popen("for i in $(seq 300); do printf '\(change)'; done | ip -batch -", "r") else {
        throw NetlinkError(code: ECHILD, what: "popen")
      }
      for _ in 1...20 {
        do throws(NetlinkError) {
          let count = try reader.readRoutes(table: 21500).count
          #expect((4000...4001).contains(count))
        } catch {
          #expect(error.isTransient && error.description.contains("given up after 3 tries"))
        }
      }
      #expect(pclose(churn) == 0)
      #expect(try reader.readRoutes(table: 21500).count == 4000)
    }
  }

  /// A kernel whose answers are tampered with on their way.
  private final class Tampered: Sendable {
    enum Way {
      case interrupted, cut, lost, silent
      /// This many bytes of each answer are others, by a generator of this seed.
      case noise(bytes: Int, seed: UInt64)
    }

    struct Count {
      var requests = 0
      /// Answers that are still to be tampered with.
      var left = 0
      var way = Way.lost
      var random: UInt64 = 0
    }

    let count = Mutex(Count())
    let reader: KernelReader

    init() throws {
      let real = try NetlinkSocket(.route)
      let socket = try NetlinkSocket(.route)
      reader = KernelReader(socket)
      socket.interpose(
        NetlinkSocket.Carrier(
          send: { [unowned self] bytes throws(NetlinkError) in
            self.count.withLock { $0.requests += 1 }
            try real.state.withLock { state throws(NetlinkError) in try state.send(bytes, what: "ask") }
          },
          receive: { [unowned self] () throws(NetlinkError) in
            guard let answer = try real.receive() else { return nil }
            return try self.tamper(answer)
          }), patience: 20)
    }

    private func tamper(_ answer: [UInt8]) throws(NetlinkError) -> [UInt8]? {
      try count.withLock { count throws(NetlinkError) in
        guard count.left > 0 else { return answer }
        count.left -= 1
        var answer = answer
        switch count.way {
        // NLM_F_DUMP_INTR of the first message.
        case .interrupted: answer[6] |= 0x10
        case .cut: answer.removeLast(answer.count / 3)
        case .lost: throw NetlinkError(code: ENOBUFS, what: "receive from the kernel")
        case .silent: return nil
        case .noise(let bytes, let seed):
          if count.random == 0 { count.random = seed | 1 }
          for _ in 0..<bytes {
            count.random = count.random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            answer[Int(count.random >> 33) % answer.count] = UInt8(truncatingIfNeeded: count.random >> 25)
          }
        }
        return answer
      }
    }

    /// Reads with so many answers tampered with; gives what came of it, and how often the kernel was asked.
    func read(_ way: Way, answers: Int) -> (result: Result<KernelState, NetlinkError>, requests: Int) {
      count.withLock { $0 = Count(left: answers, way: way) }
      let result = Result { () throws(NetlinkError) in try reader.read() }
      return (result, count.withLock { $0.requests })
    }
  }

  @Test("answers that are interrupted, cut off, lost or noise: asked again a bounded number of times, whole or not at all, and no trap")
  func tampered() throws {
    try inNamespaces {
      try shell(
        """
        set -e
        for i in 1 2 3 4; do ip link add lan$i type veth peer name far$i; ip link set lan$i up; ip address add 192.0.2.$i/24 dev lan$i; done
        for i in $(seq 0 499); do echo route add 10.1.$((i / 256)).$((i % 256)) dev lan1; done | ip -batch -
        # Their flags change when the kernel has looked after the carriers, up to a second late.
        for i in 1 2 3 4; do until ip link show lan$i | grep -Eq 'state (LOWERLAYER)?DOWN'; do sleep 0.01; done; done
        """)
      let tampered = try Tampered()
      let truth = try KernelReader().read()
      let usual = tampered.read(.lost, answers: 0)
      #expect(try usual.result.get().routes == truth.routes && usual.requests > 5)
      for way in [Tampered.Way.interrupted, .cut, .lost] {
        // Once or twice: made up for.
        for answers in [1, 2] {
          let (result, requests) = tampered.read(way, answers: answers)
          let state = try? result.get()
          #expect(state?.routes == truth.routes && state?.links == truth.links && state?.addresses == truth.addresses, "\(way): \(result)")
          #expect(requests <= usual.requests + 2, "\(way)")
        }
        // For ever: given up, with a reason.
        let (result, requests) = tampered.read(way, answers: .max)
        #expect(throws: NetlinkError.self, "\(way)") { try result.get() }
        if case .failure(let error) = result {
          #expect(error.isTransient && error.description.contains("given up after 3 tries"), "\(error)")
        }
        #expect(requests == 3, "\(way)")
      }
      let (silence, requests) = tampered.read(.silent, answers: .max)
      if case .failure(let error) = silence { #expect(error.code == ETIMEDOUT) } else { Issue.record("there was no answer") }
      #expect(requests == 1)
      for seed in UInt64(1)...150 {
        let (_, requests) = tampered.read(.noise(bytes: Int(1 + seed % 40), seed: seed), answers: Int(seed % 30))
        #expect(requests <= 3 * usual.requests, "seed \(seed)")
      }
      // The rest of dumps that broke off is read and dropped, and then all is as before.
      var last = tampered.read(.lost, answers: 0).result
      for _ in 0..<5 where (try? last.get()) == nil { last = tampered.read(.lost, answers: 0).result }
      let state = try last.get()
      #expect(state.routes == truth.routes && state.links == truth.links && state.rules == truth.rules)
    }
  }
}
