import Glibc
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import TestSupport
import Testing

@testable import HostDNS

/// The owner of a port of this machine, and the resolver order of glibc's configuration.
@Suite("The owner of a port", .serialized) struct PortOwnerTests {
  /// A dnsmasq that listens at an address, for as long as the body runs.
  private func withDnsmasq(_ options: String, port: UInt16, _ body: (Int32) throws -> Void) throws {
    let folder = try TemporaryFolder()
    try shell(
      "dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --port=\(port) --pid-file=\(folder.path)/pid \(options)")
    let process = try #require(Int32(try shell("cat \(folder.path)/pid").filter(\.isNumber)))
    defer { kill(process, SIGTERM) }
    try body(process)
  }

  private static let own = IPAddress(v4: 0x7f52_0063)

  @Test(
    "is found, at the address itself or at every address", .enabled(if: canMakeNamespaces, "namespaces cannot be made"),
    arguments: [("--bind-interfaces --listen-address=127.82.0.99", "127.82.0.99"), ("--user=root", "0.0.0.0")])
  func found(_ options: String, _ address: String) throws {
    try inNamespaces {
      try shell("ip link set lo up")
      try withDnsmasq(options, port: 5399) { process in
        let owner = try #require(PortOwner(of: Self.own, port: 5399))
        #expect(owner.program == PortOwner.Program(name: "dnsmasq", process: process))
        #expect(owner.address.description == address)
        #expect("\(owner)".hasPrefix("dnsmasq (process \(process)"))
        #expect(owner.cure(port: 5399).contains("of its own instead of") == (address == "0.0.0.0"))
        #expect(PortOwner(of: Self.own, port: 5398) == nil)
      }
    }
  }

  @Test("other addresses and sockets of this process do not count", .enabled(if: canMakeNamespaces, "namespaces cannot be made"))
  func others() throws {
    try inNamespaces {
      try shell("ip link set lo up")
      try withDnsmasq("--bind-interfaces --listen-address=127.0.0.1", port: 5399) { _ in
        #expect(PortOwner(of: Self.own, port: 5399) == nil)
        let socket = try NameServerSockets.listener(Self.own, port: 5399, isStream: false)
        #expect(PortOwner(of: Self.own, port: 5399) == nil)
        withExtendedLifetime(socket) {}
      }
    }
  }

  @Test(
    "a command says who has the port of our name server, at the address where it listens with this DNS backend",
    .enabled(if: canMakeNamespaces, "namespaces cannot be made"), arguments: [false, true])
  func takenFromOutside(isResolved: Bool) throws {
    try inNamespaces {
      try shell("ip link set lo up; ip address add 192.0.0.8/32 dev lo")
      let host = try ResolvConfHost()
      try host.put("nameserver 192.0.2.1\n")
      if isResolved { try shell("ln -sf ../run/systemd/resolve/stub-resolv.conf \(host.path)") }
      let resolver = HostResolver(
        path: host.path, stateDirectory: host.state, on: try EventLoop(), busAddress: "unix:path=/none", isAgent: false)
      func reason() -> String? {
        if case .unavailable(let reason) = resolver.observe([:], by: resolver.read()).facts.nameServer { reason } else { nil }
      }
      #expect(reason() == nil)
      let (own, others) = isResolved ? ("192.0.0.8", "127.82.0.53") : ("127.82.0.53", "192.0.0.8")
      try withDnsmasq("--bind-interfaces --listen-address=\(others)", port: 53) { _ in #expect(reason() == nil) }
      usleep(100_000)
      try withDnsmasq("--bind-interfaces --listen-address=\(own)", port: 53) { process in
        #expect(reason() == "dnsmasq (process \(process)) has taken port 53, at \(own); cure: end process \(process)")
      }
    }
  }

  @Test("words for what is known of it") func words() {
    var owner = PortOwner(program: .init(name: "unbound", process: 12), unit: "unbound.service", address: IPAddress(v4: 0))
    #expect("\(owner)" == "unbound (process 12 of unbound.service)")
    #expect(owner.cure(port: 53).hasSuffix("or systemctl stop unbound.service"))
    owner.program = nil
    #expect("\(owner)" == "a program of unbound.service")
    owner.unit = nil
    #expect("\(owner)" == "another program" && owner.cure(port: 53).contains("ss -lnp 'sport = :53'"))
  }

  @Test("the module of glibc is found beside other libraries, and a changed nsswitch.conf is read again") func glibc() throws {
    let folder = try TemporaryFolder()
    let (file, library) = ("\(folder.path)/nsswitch.conf", "\(folder.path)/lib/x86_64-linux-gnu")
    let names = NameServiceSwitch(path: file, libraries: ["\(folder.path)/nowhere", "\(folder.path)/lib"])
    #expect(names.hosts == .usual && !names.asksResolved)
    try shell("mkdir -p \(library) && touch \(library)/libnss_resolve.so.2 && echo 'hosts: resolve dns' > \(file)")
    #expect(names.hosts.namesResolved && names.asksResolved)
    try shell("echo 'hosts: files dns' > \(file).new && mv \(file).new \(file)")
    #expect(!names.hosts.namesResolved && !names.asksResolved)
  }
}
