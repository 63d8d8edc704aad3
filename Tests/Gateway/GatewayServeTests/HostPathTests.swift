import GatewayCore
import GatewayHost
import Glibc
import KernelModel
import NetworkTypes
import SeededRandom
import TestKit
import TestSupport
import Testing

private let script = "\(#filePath)".split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/Scenes/host_path.py"
private let canRun = geteuid() == 0 && canMakeNamespaces && (try? shell("command -v ip python3 sysctl")) != nil

/// Compares the words of `evaluate` and `explain` on the gateway's machine with the way that its kernel gives the packet. The packet comes
/// out of the link of the tunnel. It is for the machine, leaves by a link, or neither.
@Suite(.enabled(if: canRun, "needs root, namespaces, ip, sysctl and python3"))
struct HostPathTests {
  @Test("the kernel does with a device's packets what `evaluate` says, with random routes, rules, links and settings", arguments: 1...12)
  func agreement(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let machine = Machine(&random)
    var work = Administration(Directory(), lastID: 0, actor: "root", now: 1_000_000)
    work.setSite(
      try #require(Endpoint("192.0.2.1:51820")), publicKey: try #require(WireGuardKey(bytes: [UInt8](repeating: 1, count: 32))),
      link: try #require(InterfaceName("rg0")))
    let directory = work.directory
    let cases = try (Self.fours.map { (Self.devices.0, $0) } + Self.sixes.map { (Self.devices.1, $0) }).map {
      (source: try #require(IPAddress($0.0)), destination: try #require(IPAddress($0.1)))
    }
    let (said, seen) = try inNamespaces(mounts: true) {
      try shell(Self.links + machine.commands.map { "\n\($0)" }.joined() + Self.settled)
      let routes = HostRoutes()
      let said = cases.map { one in
        switch routes.path(from: one.source, to: one.destination, in: directory) {
        case .local?: "local"
        case .leaves(let link, _)?: link
        case .notForwarded?, .noRoute?, .withoutCarrier?: "nowhere"
        case nil: "unknown"
        }
      }
      let lines = cases.map { "\($0.source) \($0.destination)" }.joined(separator: "\n")
      return (said, try shell("python3 '\(script)' client <<'END'\n\(lines)\nEND").split(separator: "\n").map(String.init))
    }
    try #require(seen.count == cases.count, "\(seen)")
    for (i, one) in cases.enumerated() where said[i] != seen[i] {
      Issue.record("\(one.source) to \(one.destination): evaluate says \(said[i]), the kernel \(seen[i])\n\(machine.text)")
    }
    // There is something to agree on.
    #expect(Set(seen).count > 1, "\(seen)")
  }

  private static let devices = ("10.77.0.2", "fd77::2")
  private static let fours = [
    "10.10.0.9", "10.11.0.9", "10.12.0.9", "10.11.0.1", "10.77.0.1", "10.20.1.1", "10.20.5.1", "10.20.6.1", "10.50.0.1",
  ]
  private static let sixes = [
    "2001:db8:10::9", "2001:db8:11::9", "2001:db8:12::9", "2001:db8:11::1", "2001:db8:20::1", "2001:db8:20:5::1", "2001:db8:50::1",
  ]

  /// The device in a namespace of its own, behind the link of the tunnel, and three links to elsewhere.
  private static let links = """
    set -e
    mkdir -p /run/netns
    mount -t tmpfs tmpfs /run/netns
    ip netns add client
    ip netns add far
    ip link set lo up
    ip link add rg0 address 02:00:00:00:00:01 type veth peer name v0 address 02:00:00:00:00:02 netns client
    ip link set rg0 up
    ip address add 10.77.0.1/24 dev rg0
    ip address add fd77::1/64 dev rg0 nodad
    ip neighbour add 10.77.0.2 lladdr 02:00:00:00:00:02 dev rg0
    ip neighbour add fd77::2 lladdr 02:00:00:00:00:02 dev rg0
    ip -n client link set v0 up
    ip -n client address add 10.77.0.2/24 dev v0
    ip -n client address add fd77::2/64 dev v0 nodad
    ip -n client neighbour add 10.77.0.1 lladdr 02:00:00:00:00:01 dev v0
    ip -n client neighbour add fd77::1 lladdr 02:00:00:00:00:01 dev v0
    ip -n client route add default via 10.77.0.1
    ip -n client route add default via fd77::1
    for i in 0 1 2; do
      ip link add o$i type veth peer name p$i netns far
      ip link set o$i up arp off
      ip -n far link set p$i up
      ip address add 10.1$i.0.1/24 dev o$i
      ip address add 2001:db8:1$i::1/64 dev o$i nodad
    done
    """

  /// The kernel takes a changed carrier into account a moment after the command: in the routes by the link, and in its queue, which before
  /// drops what is sent. The link's state then fits its carrier, and the last command waits for what else belongs to that. A new IPv6
  /// address is there before its own route is, too.
  private static let settled = """

    for try in $(seq 500); do
      ip -o link show | awk '
        /LOOPBACK/ || !/[<,]UP[,>]/ { next }
        ($0 ~ /LOWER_UP/) != ($0 ~ / state UP /) { late = 1 }
        END { exit late }' && break
      sleep 0.02
    done
    for try in $(seq 500); do
      { ip -6 -o address show scope global; ip -6 route show table local; } | awk '
        $3 == "inet6" { split($4, part, "/"); address[part[1]]; next }
        $1 == "local" { delete address[$2] }
        END { for (one in address) exit 1 }' && break
      sleep 0.02
    done
    ip link set lo up
    """

  /// Random commands that make a machine of it; some of them fail where others came first.
  private struct Machine {
    private(set) var commands: [String] = []
    var text: String { commands.joined(separator: "\n") }

    init(_ random: inout SplitMix64) {
      add("sysctl -qw net.ipv4.ip_forward=\(random.chance(0.85) ? 1 : 0) net.ipv6.conf.all.forwarding=\(random.chance(0.85) ? 1 : 0)")
      if random.chance(0.1) { add("sysctl -qw net.ipv4.conf.rg0.forwarding=0") }
      if random.chance(0.4) { add("sysctl -qw net.ipv4.conf.rg0.rp_filter=\(1 + random.next() % 2)") }
      if random.chance(0.3) { add("sysctl -qw net.ipv4.conf.all.ignore_routes_with_linkdown=1") }
      for _ in 0..<(2 + random.next() % 6) { addRoute(&random) }
      for _ in 0..<(random.next() % 3) { addRule(&random) }
      for i in 0..<3 {
        // Or it loses its carrier.
        let draw = random.next() % 10
        if draw < 2 { add("ip link set o\(i) down") } else if draw < 4 { add("ip -n far link set p\(i) down") }
      }
      // After a link was down: routes of it are gone, others are not.
      for _ in 0..<(random.next() % 3) { addRoute(&random) }
    }

    private mutating func add(_ command: String) { commands.append(command + " 2>/dev/null || true") }

    private mutating func addRoute(_ random: inout SplitMix64) {
      let isSix = random.chance(0.4)
      let table = random.chance(0.7) ? "main" : "100"
      let prefix =
        isSix
        ? random.pick(["default", "2001:db8:20::/48", "2001:db8:20:5::/64", "2001:db8:11::8/125"])
        : random.pick(["default", "10.20.0.0/16", "10.20.5.0/24", "10.20.6.0/24", "10.11.0.8/29", "10.77.0.0/28"])
      let link = Int(random.next() % 3)
      let metric = "metric \(10 + random.next() % 3)"
      let kind = random.next() % 10
      let words =
        switch kind {
        case 0: "unreachable \(prefix)"
        case 1: "blackhole \(prefix)"
        case 2: "prohibit \(prefix)"
        case 3: "throw \(prefix)"
        case 4, 5, 6: "\(prefix) dev o\(link)"
        default: "\(prefix) via \(isSix ? "2001:db8:1\(link)::7" : "10.1\(link).0.7")"
        }
      add("ip \(isSix ? "-6" : "-4") route add \(words) table \(table) \(metric)")
    }

    private mutating func addRule(_ random: inout SplitMix64) {
      let isSix = random.chance(0.4)
      let selector =
        isSix
        ? random.pick(["from fd77::/64", "iif rg0", "to 2001:db8:20::/48", "fwmark 0x1", "not fwmark 0x1", "oif o1"])
        : random.pick(["from 10.77.0.0/24", "iif rg0", "to 10.20.0.0/16", "fwmark 0x1", "not fwmark 0x1", "oif o1"])
      let action = random.chance(0.8) ? "lookup 100" : random.pick(["prohibit", "unreachable", "blackhole"])
      add("ip \(isSix ? "-6" : "-4") rule add \(selector) priority \(100 + random.next() % 20) \(action)")
    }
  }
}
