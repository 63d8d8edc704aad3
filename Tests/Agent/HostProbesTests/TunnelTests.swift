import Glibc
import HostProbes
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

/// A machine with an underlay and a tunnel that takes everything, as our own full tunnels do (docs/decisions/0003).
@Suite("Past the tunnel", .enabled(if: canMakeNamespaces, "no namespaces here"))
struct PastTheTunnelTests {
  /// `wlan0` leads to a server at 192.0.2.1, `corp` to one at the same address that belongs to the other side of the tunnel.
  private let setup = """
    ip netns add there && ip netns add inside
    ip link add wlan0 type veth peer name lan0 netns there && ip link add corp type veth peer name gw0 netns inside
    for i in there inside; do ip -n $i link set lo up; done
    ip -n there address add 192.0.2.1/24 dev lan0 && ip -n there -6 address add 2001:db8::1/64 dev lan0 nodad && ip -n there link set lan0 up
    ip -n inside address add 192.0.2.1/24 dev gw0 && ip -n inside address add 2001:db8::1/64 dev gw0 nodad && ip -n inside link set gw0 up
    ip -n inside route add 10.77.0.0/16 dev gw0
    echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad; echo 0 >/proc/sys/net/ipv6/conf/wlan0/accept_dad
    ip address add 192.0.2.23/24 dev wlan0; ip -6 address add 2001:db8::23/64 dev wlan0 nodad; ip link set wlan0 up
    ip address add 10.77.0.2/32 dev corp; ip link set corp up; ip route add default via 192.0.2.1
    ip rule add pref 21000 not fwmark 0x52000000/0xff000000 lookup 21000; ip -6 rule add pref 21000 not fwmark 0x52000000/0xff000000 lookup 21000
    ip route add default dev corp table 21000; ip -6 route add default dev corp table 21000
    nft add table inet watch; nft 'add chain inet watch out { type filter hook output priority 0; }'
    for i in wlan0 corp; do nft add rule inet watch out oifname $i meta l4proto tcp counter; done
    for f in syn fin rst; do nft "add rule inet watch out oifname corp tcp flags & $f == $f counter"; done
    """

  private func servers(on loop: EventLoop) throws -> [ChildProcess] {
    try shell("mkdir -p /run/www && echo outside >/run/www/index.html")
    return try ["there", "inside"].map { node in
      try ChildProcess(
        ["ip", "netns", "exec", node, "busybox", "httpd", "-f", "-p", "80", "-h", "/run/www"], timeout: .seconds(60), on: loop
      ) { _ in }
    }
  }

  /// TCP packets that left by this link.
  private func sent(by link: String) throws -> Int {
    let rules = try shell("nft list chain inet watch out")
    let rule = rules.split(separator: "\n").first { $0.contains("\"\(link)\"") } ?? ""
    return Int(rule.split(separator: " ").drop { $0 != "packets" }.dropFirst().first ?? "") ?? -1
  }

  /// Sends a probe; gives the reply and how many packets left by the link and by the tunnel.
  private func probe(
    _ url: String, by passage: ProbePassage, within limit: Duration = .seconds(20)
  ) throws -> (ProbeReply, outside: Int, inside: Int) {
    let before = (try sent(by: "wlan0"), try sent(by: "corp"))
    let reply: ProbeReply = try onLoop { loop, done in
      let children = try servers(on: loop)
      try shell(
        "for n in there inside; do for i in $(seq 200); do ip netns exec $n ss -Hltn 'sport = :80' | grep -q . && break; sleep 0.02; done; done"
      )
      let helper = ProbeHelper(on: loop)
      let runner = ProbeRunner(on: loop, helper, resolver: EndpointResolver(on: loop, helper))
      return (children, runner.run(ProbeRequest(url: url, timeout: limit), by: passage, then: done))
    }
    // The connection ends after the reply has come.
    for _ in 0..<500 where passage.link != nil && reply == .response(status: 200) {
      if try sent(by: "wlan0") - before.0 >= 4 { break }
      usleep(20_000)
    }
    return (reply, try sent(by: "wlan0") - before.0, try sent(by: "corp") - before.1)
  }

  @Test("the tunnel carries no packet of it, by IPv4 and IPv6", arguments: ["http://192.0.2.1/", "http://[2001:db8::1]/"])
  func outside(url: String) throws {
    try inNamespaces(mounts: true) {
      try shell("mount -t tmpfs tmpfs /run; mkdir /run/netns; set -e; " + setup.replacing("\n", with: "; "))
      let (reply, outside, inside) = try probe(url, by: ProbePassage(link: "wlan0", nameServers: .known([])))
      #expect(reply == .response(status: 200))
      #expect(outside >= 4, "SYN, ACK, GET and FIN at least")
      let counters = try shell("nft list chain inet watch out")
      #expect(inside == 0, "\(counters)")
      // The same without the mark and the link goes into the tunnel: the test can tell.
      let elsewhere = ProbePassage(link: nil, mark: 0, nameServers: .known([]))
      var within = try probe(url, by: elsewhere, within: .seconds(2)).inside
      // The time includes the start of the program.
      if within == 0 { within = try probe(url, by: elsewhere).inside }
      #expect(within > 0)
    }
  }
}
