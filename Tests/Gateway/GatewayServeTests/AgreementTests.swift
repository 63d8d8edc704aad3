import GatewayCore
import Glibc
import KernelModel
import KernelNetwork
import LinuxIO
import NetworkTypes
import SeededRandom
import TestKit
import TestSupport
import Testing

private let script = "\(#filePath)".split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/Scenes/agree.py"
private let canRun = geteuid() == 0 && canMakeNamespaces && (try? shell("command -v ip nft python3")) != nil

@Suite(.enabled(if: canRun, "needs root, namespaces, ip, nft and python3"))
struct AgreementTests {
  private struct Case {
    let user: Int64
    let source: IPAddress
    let destination: IPAddress
    let transport: Transport
    let port: UInt16?
    /// Whether it is TCP in the middle of a connection.
    let isLate: Bool

    var line: String { "\(isLate ? "ack" : "\(transport)") \(source) \(destination) \(port ?? 0)" }
  }

  @Test("the kernel and `explain` name the same rule for 500 random packets by UDP, TCP and ICMP, with each set of random rules")
  func agreement() throws {
    var outcomes = Set<String>()
    for seed: UInt64 in 1...8 { outcomes.formUnion(try compare(seed)) }
    // Packets of each protocol are allowed, and denied.
    #expect(outcomes == ["udp 0", "udp 1", "tcp 0", "tcp 1", "icmp 0", "icmp 1"])
  }

  /// Compares 500 packets. Returns the verdicts on each protocol.
  private func compare(_ seed: UInt64) throws -> Set<String> {
    var random = SplitMix64(seed: seed)
    let work = try sample(&random)
    let directory = work.directory
    let sources = directory.devices.values.sorted { $0.id < $1.id }.flatMap { device in
      directory.addresses(of: device.id).map { (device.user, $0) }
    }
    let others = try ["10.1.0.1", "10.1.0.2", "10.2.0.1", "2001:db8:1::1", "2001:db8:2::1"].map { try #require(IPAddress($0)) }
    let cases = (0..<500).map { _ in
      let source = random.pick(sources)
      let targets = (others + sources.map(\.1)).filter { $0.family == source.1.family && $0 != source.1 }
      let transport = random.pick([Transport.udp, .tcp, .icmp])
      return Case(
        user: source.0, source: source.1, destination: random.pick(targets), transport: transport,
        port: transport == .icmp ? nil : UInt16(1000 + random.next() % 6), isLate: transport == .tcp && random.chance(0.3))
    }
    // The rule of a locked user's packet is none: nothing of this user is judged.
    let expected = cases.map { one in
      if directory.users[one.user]?.isLocked ?? true { return "0 -" }
      let question = AccessQuestion(user: one.user, destination: one.destination, transport: one.transport, port: one.port)
      let decision = AccessDecision(question, in: directory)
      return "\(decision.isAllowed ? 1 : 0) \(decision.rule?.name.description ?? "no rule matches")"
    }
    let table = GatewayTable(directory, link: "lo", at: work.now)
    let found = try inNamespaces {
      try shell("ip link set lo up")
      for address in others + sources.map(\.1) {
        try shell("ip address add \(address) dev lo\(address.family == .v6 ? " nodad" : "")")
      }
      try NftablesCommands().run(table.transaction)
      return try shell("python3 '\(script)' <<'END'\n\(cases.map(\.line).joined(separator: "\n"))\nEND").split(separator: "\n")
    }
    try #require(found.count == cases.count, "\(found.joined(separator: "\n"))")
    for (i, one) in cases.enumerated() where String(found[i]) != expected[i] {
      Issue.record("seed \(seed): \(one.line): explain says \(expected[i]), the kernel \(found[i])")
    }
    return Set(zip(cases, expected).map { "\($0.transport) \($1.prefix(1))" })
  }

  private func name(_ text: String) throws -> GatewayName { try #require(GatewayName(text)) }

  /// Three users with a device each, one of them locked in some samples, two groups, and eight random rules.
  private func sample(_ random: inout SplitMix64) throws -> Administration {
    var work = Administration(Directory(), lastID: 0, actor: "root", now: 1_000_000)
    for (pool, text) in [("four", "10.77.0.0/24"), ("six", "fd77::/64")] {
      let prefix = try #require(IPPrefix(text))
      try work.addPool(try name(pool), prefix, isTranslated: false)
    }
    for group in ["g0", "g1"] { try work.addGroup(try name(group)) }
    for i in 0..<3 {
      let user = try name("u\(i)")
      try work.addUser(user)
      let key = try #require(WireGuardKey(bytes: [UInt8](repeating: UInt8(i + 1), count: 32)))
      try work.addDevice(DevicePath(user: user, device: try name("d")), publicKey: key)
      for group in ["g0", "g1"] where random.chance(0.5) { try work.setMember(true, user, of: try name(group)) }
    }
    if random.chance(0.5) { try work.setLocked(true, try name("u2")) }
    let users = work.directory.users.keys.sorted()
    let groups = work.directory.groups.keys.sorted()
    let prefixes = ["10.1.0.0/16", "10.1.0.1/32", "10.0.0.0/8", "2001:db8:1::/48", "2001:db8::/32", "::/0"].compactMap { IPPrefix($0) }
    for i in 0..<8 {
      let source: AccessRule.Source =
        random.chance(0.2) ? .everybody : random.chance(0.5) ? .user(random.pick(users)) : .group(random.pick(groups))
      let destination: AccessRule.Destination =
        random.chance(0.15)
        ? .everything
        : random.chance(0.3)
          ? .devices(ofGroup: random.pick(groups)) : .prefixes((0...Int(random.next() % 3)).map { _ in random.pick(prefixes) })
      let transport: Transport = random.chance(0.3) ? .any : random.pick([.udp, .udp, .tcp, .tcp, .icmp])
      let ports =
        !transport.hasPorts ? [] : ["1001", "1002-1004", "1003-1005"].filter { _ in random.chance(0.4) }.compactMap { PortRange($0) }
      try work.addRule(
        AccessRule(
          id: 0, name: try name("r\(i)"), position: 0, source: source, destination: destination, transport: transport, ports: ports,
          isAllowing: random.chance(0.6)))
    }
    return work
  }
}
