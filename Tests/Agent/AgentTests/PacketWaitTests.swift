import AgentCore
import Glibc
import LinuxIO
import NetworkTypes
import SystemdIO
import TestSupport
import Testing

@testable import LinuxPlatform

@Suite("The wait for a packet", .enabled(if: canMakeNamespaces, "no namespaces can be made here"))
struct PacketWaitTests {
  @Test("it ends once, and not before the engine had time for its handshake; released, it never ends", arguments: [true, false])
  func once(isKept: Bool) throws {
    try inNamespaces {
      try shell(
        """
        ip link add lan0 type veth peer name far0; ip link set far0 up; ip link set lan0 up
        ip address add 192.0.2.5/24 dev lan0; ip neighbour add 192.0.2.9 lladdr 02:00:5e:00:00:01 nud permanent dev lan0
        """)
      let loop = try EventLoop()
      var calls: [Moment] = []
      var wait = try PacketWait(on: lan(), .unicast, loop) { calls.append(.now) } as PacketWait?
      try shell("bash -c 'for i in 1 2 3; do echo x >/dev/udp/192.0.2.9/9; done'")
      let began = Moment.now
      var release: EventSource?
      if !isKept { release = try loop.at(began + .milliseconds(1)) { wait = nil } }
      let end = try loop.at(began + .milliseconds(200)) { loop.stop() }
      _ = try loop.run()
      #expect(isKept ? calls.count == 1 && calls[0] - began >= .milliseconds(10) : calls.isEmpty)
      withExtendedLifetime((wait, release, end)) {}
    }
  }

  @Test("multicasts are for those who ask for all packets") func multicasts() throws {
    try inNamespaces {
      try shell(
        """
        sysctl -qw net.ipv6.conf.default.disable_ipv6=1; ip link add lan0 type veth peer name far0; ip link set far0 up
        ip link set lan0 up; ip address add 192.0.2.5/24 dev lan0; ip route add 224.0.0.0/4 dev lan0
        """)
      let loop = try EventLoop()
      var calls: [WatchedPackets] = []
      let waits = try [WatchedPackets.unicast, .all].map { packets in
        try PacketWait(on: lan(), packets, loop) { calls.append(packets) }
      }
      try shell("bash -c 'echo x >/dev/udp/224.0.0.251/5353'")
      let end = try loop.at(.now + .milliseconds(200)) { loop.stop() }
      _ = try loop.run()
      #expect(calls == [.all])
      withExtendedLifetime((waits, end)) {}
    }
  }

  private func lan() throws -> InterfaceIndex { try #require(InterfaceIndex(if_nametoindex("lan0"))) }
}
