import Glibc
import KernelModel
import KernelNetwork
import LinuxIO
import NetworkTypes
import RoamwardCore
import SeededRandom
import TestSupport
import Testing

@Suite("The firewall", .needsNamespaces)
struct NftablesBackendTests {
  private func prefix(_ text: String) throws -> IPPrefix { try #require(IPPrefix(text)) }

  private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

  /// `out0` leads to a network, `tun0` is a tunnel; nobody answers on either.
  private func makeLinks() throws {
    try shell(
      """
      ip link set lo up
      ip link add out0 type veth peer name far0 && ip link set far0 up && ip link set out0 up
      ip tuntap add tun0 mode tun && ip link set tun0 up
      ip address add 192.168.7.20/24 dev out0 && ip address add 10.77.0.2/32 dev tun0
      ip -6 address add 2001:db8::20/64 dev out0 nodad
      ip route add default via 192.168.7.1 dev out0 && ip -6 route add default via 2001:db8::1 dev out0
      for a in 192.168.7.1 192.168.7.9; do ip neighbour add $a lladdr 02:00:5e:00:00:01 nud permanent dev out0; done
      ip -6 neighbour add 2001:db8::1 lladdr 02:00:5e:00:00:01 nud permanent dev out0
      nft 'table inet watch { chain c { type filter hook postrouting priority 300; oifname "out0" meta l4proto udp counter; }; }'
      """)
  }

  private func table(dns: Bool = true, lan: Bool = true, portal: Bool = false) throws -> FirewallTable {
    FirewallTable(
      guards: [
        .init(tunnel: "corp", prefixes: [.everything(.v4), .everything(.v6)], excluded: [try prefix("203.0.113.0/24")], hasDNS: dns)
      ], insides: [.init(link: "tun0", addresses: [try address("10.77.0.2")])], neighbours: [try prefix("192.168.7.0/24")], allowsLAN: lan,
      portal: portal ? PortalWindow() : nil)
  }

  /// Whether a datagram of a program leaves by `out0`.
  private func leaves(to target: String, port: UInt16 = 4000, from source: UInt16 = 0, mark: UInt32 = 0) throws -> Bool {
    let before = try sent()
    let to = try address(target)
    let number = socket(to.family == .v4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(number) }
    var mark = mark
    if mark != 0 { #expect(setsockopt(number, SOL_SOCKET, SO_MARK, &mark, 4) == 0) }
    if source != 0 {
      var own = sockaddr_in()
      own.sin_family = sa_family_t(AF_INET)
      own.sin_port = source.bigEndian
      _ = withUnsafeBytes(of: &own) { bind(number, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 16) }
    }
    if to.family == .v4 {
      var there = sockaddr_in()
      there.sin_family = sa_family_t(AF_INET)
      there.sin_port = port.bigEndian
      inet_pton(AF_INET, target, &there.sin_addr)
      _ = withUnsafeBytes(of: &there) { sendto(number, "x", 1, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 16) }
    } else {
      var there = sockaddr_in6()
      there.sin6_family = sa_family_t(AF_INET6)
      there.sin6_port = port.bigEndian
      inet_pton(AF_INET6, target, &there.sin6_addr)
      _ = withUnsafeBytes(of: &there) { sendto(number, "x", 1, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 28) }
    }
    return try sent() > before
  }

  /// Datagrams that have passed every chain and leave by `out0`; what the kernel itself sends there (MLD, neighbour discovery) is none.
  private func sent() throws -> Int {
    let words = try shell("nft list chain inet watch c").split { $0 == " " || $0 == "\n" }
    return try #require(words.drop { $0 != "packets" }.dropFirst().first.flatMap { Int($0) })
  }

  @Test("holds back what is guarded, and lets through what docs/security-kill-switch.md lists")
  func guarding() throws {
    try inNamespaces {
      try makeLinks()
      // Every one of them leaves by itself, so the detector sees a leak.
      for target in ["198.51.100.5", "203.0.113.5", "192.168.7.9", "2001:db8:5::5"] { #expect(try leaves(to: target), "\(target)") }
      let firewall = try NftablesBackend()
      try firewall.replace(try table())
      #expect(try !leaves(to: "198.51.100.5"))
      #expect(try !leaves(to: "2001:db8:5::5"))
      #expect(try !leaves(to: "198.51.100.5", port: 53))
      #expect(try !leaves(to: "192.168.7.9", port: 53))
      #expect(try !leaves(to: "192.168.7.9", port: 853))
      #expect(try leaves(to: "198.51.100.5", mark: Ownership.mark))
      #expect(try leaves(to: "198.51.100.5", mark: Ownership.mark | 7))
      #expect(try !leaves(to: "198.51.100.5", mark: 0x5100_0000))
      #expect(try leaves(to: "203.0.113.5"))
      #expect(try leaves(to: "192.168.7.9"))
      #expect(try leaves(to: "192.168.7.9", port: 67, from: 68))
      try firewall.replace(try table(dns: false, lan: false))
      #expect(try !leaves(to: "192.168.7.9"))
      #expect(try leaves(to: "203.0.113.5", port: 53))
      try firewall.replace(try table(portal: true))
      #expect(try leaves(to: "198.51.100.5", port: 53))
      #expect(try !leaves(to: "198.51.100.5"))
      try firewall.remove()
      #expect(try leaves(to: "198.51.100.5"))
    }
  }

  @Test("long lists, which the kernel has as sets, decide each packet as short ones do", arguments: 0..<3 as Range<UInt64>)
  func longLists(seed: UInt64) throws {
    try inNamespaces {
      try makeLinks()
      var random = SplitMix64(seed: seed)
      func prefixes(_ count: Int) throws -> [IPPrefix] {
        try (0..<count).map { _ in
          let part = "198.\(18 + random.next() % 2).\(random.next() % 64).\(16 * (random.next() % 16))"
          return try #require(IPPrefix("\(part)/\(24 + random.next() % 5)"))
        }
      }
      let (included, excluded) = (try prefixes(200), try prefixes(60))
      let table = FirewallTable(
        guards: [.init(tunnel: "corp", prefixes: PrefixList(included), excluded: PrefixList(excluded))],
        insides: [.init(link: "tun0", addresses: [try address("10.77.0.2")], prefixes: PrefixList(included))])
      // The destinations of the tunnel are those that are guarded: one set.
      #expect(table.transaction.split(separator: "\n").count { $0.hasPrefix("  set ") } == 2, "\(table.transaction.prefix(2000))")
      let firewall = try NftablesBackend()
      func decides(_ table: FirewallTable) throws {
        #expect(firewall.observe().isSatisfied(by: table))
        for _ in 0..<60 {
          let to = "198.\(18 + random.next() % 2).\(random.next() % 64).\(1 + random.next() % 254)"
          let target = try address(to)
          #expect(try leaves(to: to) == table.holdingBack(target).isEmpty, "\(to)")
        }
      }
      try firewall.replace(table)
      try decides(table)
      // Another network, and another list: what stays is kept, and what the kernel has is what it has of the whole.
      var other = table
      other.insides = []
      other.neighbours = [try prefix("192.168.7.0/24")]
      other.allowsLAN = true
      var third = other
      third.guards[0].excluded = PrefixList(try prefixes(60))
      third.portal = PortalWindow()
      for (before, after) in [(table, other), (other, third), (third, table)] {
        let change = try #require(after.transaction(after: before))
        #expect(change.utf8.count < after.transaction.utf8.count)
        try firewall.replace(after)
        try decides(after)
        // The kernel lists sets in the order in which they came.
        let changed = firewall.lines?.sorted()
        try NftablesBackend().replace(after)
        #expect(firewall.lines?.sorted() == changed && !firewall.observe().isSatisfied(by: before))
        // Now another one has written, so nothing may be built upon what was there.
        try firewall.replace(after)
        #expect(firewall.lines?.sorted() == changed)
        // The next agent knows it by its comment.
        #expect(try NftablesBackend().observe(trusting: true).isSatisfied(by: after))
      }
      try firewall.remove()
      #expect(firewall.lines == nil)
    }
  }

  @Test("a captured question arrives here with the server that it was sent to; the table is known from one that somebody has changed")
  func capture() throws {
    try inNamespaces {
      try makeLinks()
      let here = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
      defer { close(here) }
      // Loopback is the kernel's own thread's while the machine is busy.
      func awaitQuestion() {
        var watched = pollfd(fd: here, events: Int16(POLLIN), revents: 0)
        #expect(poll(&watched, 1, 20_000) == 1)
      }
      var own = sockaddr_in()
      own.sin_family = sa_family_t(AF_INET)
      own.sin_port = NameCapture.port.bigEndian
      inet_pton(AF_INET, "\(NameServerSettings.address)", &own.sin_addr)
      #expect(withUnsafeBytes(of: &own) { bind(here, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 16) } == 0)
      let firewall = try NftablesBackend()
      #expect(firewall.observeCapture() == .absent)
      // The detector sees a question that leaves.
      #expect(try leaves(to: "198.51.100.5", port: 53))
      // A program that has asked before, and asks again by the same socket; connections are tracked already.
      try shell("nft 'table inet track { chain c { type filter hook output priority 0; ct state new accept; }; }'")
      let earlier = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
      defer { close(earlier) }
      func asksAgain() throws -> Bool {
        let before = try sent()
        var there = sockaddr_in()
        there.sin_family = sa_family_t(AF_INET)
        there.sin_port = UInt16(53).bigEndian
        inet_pton(AF_INET, "198.51.100.5", &there.sin_addr)
        _ = withUnsafeBytes(of: &there) { sendto(earlier, "y", 1, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 16) }
        return try sent() > before
      }
      #expect(try asksAgain())
      let wanted = NameCapture(
        guests: [.init(link: "br0", addresses: [try address("172.17.0.1")], prefixes: [try prefix("172.17.0.0/16")])],
        tunnelLinks: ["tun0"], marks: [FirewallMark(0x80000, mask: 0xff0000)])
      try firewall.replace(wanted)
      #expect(firewall.observeCapture().isSatisfied(by: wanted) && firewall.observe() == .absent)
      #expect(try asksAgain(), "the kernel redirects first packets alone")
      try Conntrack().forgetConnections(toPort: 53)
      #expect(try !asksAgain())
      awaitQuestion()
      var earliest: UInt8 = 0
      #expect(recv(here, &earliest, 1, 0) == 1)
      #expect(try !leaves(to: "198.51.100.5", port: 53) && !leaves(to: "2001:db8:5::5", port: 53))
      for mark in [Ownership.mark, Ownership.nameServerMark, 0x80000] { #expect(try leaves(to: "198.51.100.5", port: 53, mark: mark)) }
      #expect(try leaves(to: "198.51.100.5", port: 853) && leaves(to: "172.17.0.9", port: 53))
      var from = sockaddr_in()
      var size = socklen_t(16)
      var byte: UInt8 = 0
      awaitQuestion()
      let count = withUnsafeMutableBytes(of: &from) {
        recvfrom(here, &byte, 1, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
      }
      #expect(count == 1)
      let client = IPAddress(v4: UInt32(bigEndian: from.sin_addr.s_addr))
      let port = UInt16(bigEndian: from.sin_port)
      func destination(_ port: UInt16, isStream: Bool = false) throws -> String? {
        try Conntrack().originalDestination(
          client: client, port: port, listener: NameServerSettings.address, listenerPort: NameCapture.port, isStream: isStream
        ).map { "\($0.0) \($0.1)" }
      }
      #expect(try destination(port) == "198.51.100.5 53")
      #expect(try destination(port &+ 1) == nil && destination(port, isStream: true) == nil)
      try shell("nft insert rule inet roamward-names output udp dport 53 return")
      #expect(!firewall.observeCapture().isSatisfied(by: wanted))
      try firewall.replace(wanted)
      #expect(firewall.observeCapture().isSatisfied(by: wanted))
      try firewall.removeCapture()
      #expect(try firewall.observeCapture() == .absent && leaves(to: "198.51.100.5", port: 53))
    }
  }

  @Test("a split tunnel guards its own prefixes alone")
  func split() throws {
    try inNamespaces {
      try makeLinks()
      let firewall = try NftablesBackend()
      let own = FirewallTable.Guard(tunnel: "corp", prefixes: [try prefix("198.51.0.0/16"), try prefix("198.51.100.0/24")])
      try firewall.replace(FirewallTable(guards: [own]))
      #expect(try !leaves(to: "198.51.100.5"))
      #expect(try leaves(to: "203.0.113.5"))
      #expect(try leaves(to: "2001:db8:5::5"))
    }
  }

  @Test("knows its table from one that somebody has changed, and leaves others' alone")
  func intact() throws {
    try inNamespaces {
      try makeLinks()
      try shell(
        "nft add table inet other; nft add chain inet other c '{ type filter hook output priority 0; }'; nft list ruleset >/dev/null")
      let firewall = try NftablesBackend()
      #expect(firewall.observe() == .absent)
      let wanted = try table()
      try firewall.replace(wanted)
      #expect(firewall.observe().isSatisfied(by: wanted))
      #expect(try !firewall.observe().isSatisfied(by: table(lan: false)))
      _ = try leaves(to: "198.51.100.5")
      #expect(firewall.observe().isSatisfied(by: wanted), "counters are no change")
      #expect(try !NftablesBackend().observe().isSatisfied(by: wanted), "another agent's is put up anew")
      try shell("nft insert rule inet roamward output accept; nft insert rule inet roamward postrouting accept")
      #expect(try leaves(to: "198.51.100.5"))
      #expect(firewall.observe() == .table(digest: wanted.digest, isIntact: false, isGuarding: true))
      try firewall.replace(wanted)
      #expect(try !leaves(to: "198.51.100.5"))
      #expect(firewall.observe().isSatisfied(by: wanted))
      try shell("nft delete table inet roamward")
      #expect(firewall.observe() == .absent)
      try firewall.replace(wanted)
      try firewall.remove()
      try firewall.remove()
      #expect(firewall.observe() == .absent)
      try shell("! nft list table inet roamward 2>/dev/null")
    }
  }

  @Test("whether it is absent is known without the library, in a namespace with tables of others")
  func absent() throws {
    try inNamespaces {
      #expect(NftablesBackend.isSurelyAbsent())
      try shell("nft add table inet other; nft add table ip roamward; nft add table inet roamward2")
      #expect(NftablesBackend.isSurelyAbsent())
      try shell("nft add table inet roamward")
      #expect(!NftablesBackend.isSurelyAbsent())
      try shell("nft delete table inet roamward")
      #expect(NftablesBackend.isSurelyAbsent())
    }
  }

  @Test("what nftables refuses changes nothing, and is told in its words")
  func refused() throws {
    try inNamespaces {
      try makeLinks()
      let firewall = try NftablesBackend()
      let wanted = try table()
      try firewall.replace(wanted)
      var bad = wanted
      bad.insides[0].link = "a name that is far too long for a link"
      #expect(throws: NftablesError.self) { try firewall.replace(bad) }
      guard case .refused(bad.digest, _) = firewall.observe() else {
        Issue.record("\(firewall.observe())")
        return
      }
      #expect(try !leaves(to: "198.51.100.5"))
    }
  }

  @Test("nothing is listed while the kernel's ruleset is the one that was seen, and every other one is")
  func generations() throws {
    try inNamespaces {
      try makeLinks()
      let firewall = try NftablesBackend()
      let wanted = try table()
      var isAsObserved: Bool { firewall.observedRuleset.map { $0 == firewall.presentRuleset } ?? false }
      #expect(!isAsObserved)
      try firewall.replace(wanted)
      #expect(firewall.commandCount == 1, "both tables are one transaction, which is not read back at once")
      #expect(!isAsObserved && firewall.observe().isSatisfied(by: wanted) && isAsObserved)
      #expect(firewall.commandCount == 1)
      firewall.storeListings()
      let afterListing = firewall.commandCount
      #expect(firewall.observe().isSatisfied(by: wanted) && firewall.commandCount == afterListing && !firewall.isUnlisted)
      try shell("nft add table inet other")
      #expect(!isAsObserved)
      #expect(firewall.observe().isSatisfied(by: wanted) && firewall.commandCount > afterListing && isAsObserved)
      try shell("nft delete rule arp roamward input handle $(nft -a list chain arp roamward input | sed -n 's/.*drop # handle //p')")
      #expect(!firewall.observe().isSatisfied(by: wanted))
      try firewall.replace(wanted)
      try shell("nft add table inet another")
      #expect(!firewall.observe().isSatisfied(by: wanted), "what it was is not known yet")
      firewall.storeListings()
      #expect(!firewall.observe().isSatisfied(by: wanted))
    }
  }

  @Test("the change of one table is no change of the other, also before the listings are stored")
  func twoTables() throws {
    try inNamespaces {
      try makeLinks()
      let firewall = try NftablesBackend()
      let wanted = try table()
      let capture = NameCapture()
      try firewall.replace(wanted)
      try firewall.replace(capture)
      #expect(firewall.observe().isSatisfied(by: wanted) && firewall.observeCapture().isSatisfied(by: capture))
      try firewall.replace(wanted)
      #expect(firewall.observe().isSatisfied(by: wanted) && firewall.observeCapture().isSatisfied(by: capture))
      firewall.storeListings()
      try shell("nft add table inet other")
      #expect(firewall.observe().isSatisfied(by: wanted) && firewall.observeCapture().isSatisfied(by: capture))
      try firewall.replace(wanted)
      try firewall.removeCapture()
      #expect(firewall.observe().isSatisfied(by: wanted) && firewall.observeCapture() == .absent)
      try firewall.replace(capture)
      try firewall.remove()
      #expect(firewall.observe() == .absent && firewall.observeCapture().isSatisfied(by: capture))
      // A change by another program counts for both.
      try firewall.replace(wanted)
      try shell("nft add table inet another")
      #expect(!firewall.observe().isSatisfied(by: wanted) && !firewall.observeCapture().isSatisfied(by: capture))
    }
  }

  @Test("a kernel without tables for ARP gets the first one, which is read back")
  func withoutARP() throws {
    try inNamespaces {
      try makeLinks()
      let firewall = try NftablesBackend()
      let wanted = try table()
      firewall.companionSuffix = "table arp roamward { chain c { no such rule; }; }\n"
      try firewall.replace(wanted)
      #expect(firewall.observe().isSatisfied(by: wanted))
      try shell("nft add table inet other")
      #expect(firewall.observe().isSatisfied(by: wanted))
    }
  }
}
