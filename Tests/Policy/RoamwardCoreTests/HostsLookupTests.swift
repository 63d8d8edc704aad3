import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit
import Testing

/// Which resolver programs of glibc ask, by /etc/nsswitch.conf.
@Suite struct HostsLookupTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let line: String
    /// With systemd-resolved and its module, and without.
    let way: HostsLookup.Way
    let without: HostsLookup.Way

    init(_ line: String, _ way: HostsLookup.Way, without: HostsLookup.Way) {
      self.line = line
      self.way = way
      self.without = without
    }

    var testDescription: String { line }
  }

  static let cases: [Case] = [
    Case("hosts: files dns", .resolvConf, without: .resolvConf),
    Case("hosts:\t\tfiles mdns4_minimal [NOTFOUND=return] dns # usual", .resolvConf, without: .resolvConf),
    Case("hosts: resolve [!UNAVAIL=return] dns", .resolved, without: .resolvConf),
    Case("hosts: mymachines resolve [!UNAVAIL=return] files myhostname dns", .resolved, without: .resolvConf),
    Case("hosts: files resolve dns", .resolved, without: .resolvConf),
    Case("hosts: files resolve[!unavail=RETURN]dns", .resolved, without: .resolvConf),
    Case("hosts: files resolve", .resolved, without: .unresolved),
    Case("hosts: resolve [UNAVAIL=return] dns", .resolved, without: .unresolved),
    Case("hosts: dns resolve", .resolvConf, without: .resolvConf),
    Case("hosts: files dns [!UNAVAIL=return] resolve", .resolvConf, without: .resolvConf),
    Case("hosts: files", .unresolved, without: .unresolved),
    Case("hosts: files [NOTFOUND=return] dns", .unresolved, without: .unresolved),
    Case("hosts: files [NOTFOUND=return] [NOTFOUND=continue] dns", .resolvConf, without: .resolvConf),
    Case("hosts:", .unresolved, without: .unresolved),
    Case("passwd: files\n# hosts: resolve\n hosts : files dns", .resolvConf, without: .resolvConf),
    Case("hosts: resolve\nhosts: files dns", .resolvConf, without: .resolvConf),
    Case("", .resolvConf, without: .resolvConf),
    // A bracket that glibc does not understand ends its line.
    Case("hosts: files [NOTFOUND=perhaps] dns", .unresolved, without: .unresolved),
    Case("hosts: files [ dns", .unresolved, without: .unresolved),
  ]

  @Test("the first service that knows names of the network decides", arguments: cases) func way(_ example: Case) {
    let hosts = HostsLookup(parsing: example.line)
    #expect(hosts.way(resolvedAnswers: true) == example.way)
    #expect(hosts.way(resolvedAnswers: false) == example.without)
    #expect(HostsLookup(parsing: "\(hosts)") == hosts, "\(hosts)")
  }

  @Test("any text is read, and what was read is written as it was read", arguments: [1, 2026]) func anything(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let words = [
      "hosts", ":", " ", "\n", "[", "]", "!", "=", "#", "UNAVAIL", "notfound", "SUCCESS", "TryAgain", "return", "continue", "merge",
      "resolve",
      "dns", "files", "é", "\0",
    ]
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 0...14, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }.joined()
      let hosts = HostsLookup(parsing: "hosts: " + text)
      #expect(HostsLookup(parsing: "\(hosts)").way(resolvedAnswers: true) == hosts.way(resolvedAnswers: true), "\(text)")
    }
  }

  /// A host with this line, its module installed, whose resolv.conf is a file.
  private static func facts(
    _ line: String = "hosts: files resolve [!UNAVAIL=return] dns", resolved: Answer<Bool> = .value(true), text: String = hand
  ) -> ResolverFacts {
    var facts = ResolverFacts(original: ResolvConfReport(parsing: text), resolved: resolved)
    facts.nameServer = .value(true)
    facts.hosts = HostsLookup(parsing: line)
    facts.hasResolveModule = true
    return facts
  }

  private static let hand = "nameserver 192.0.2.1\n"

  @Test("glibc that asks systemd-resolved is told, and systemd-resolved gets the names beside resolv.conf") func both() {
    let choice = ResolverChoice(Self.facts(), file: .file(Self.hand))
    #expect(choice.backend == .file && choice.asksResolvedToo && choice.hasNameServer)
    #expect(
      choice.lookup
        == "programs of glibc ask systemd-resolved (`hosts: files resolve [!UNAVAIL=return] dns` in /etc/nsswitch.conf), others the servers of"
        + " /etc/resolv.conf")
  }

  @Test("a module that is missing, asked later, or without an answer changes nothing") func unasked() {
    var without = Self.facts()
    without.hasResolveModule = false
    for facts in [without, Self.facts("hosts: files dns resolve"), Self.facts(resolved: .unavailable(reason: "it does not run"))] {
      let choice = ResolverChoice(facts, file: .file(Self.hand))
      #expect(choice.backend == .file && !choice.asksResolvedToo && choice.lookup == nil && !choice.isPending)
    }
  }

  @Test("systemd-resolved that has not answered yet is waited for") func pending() {
    #expect(ResolverChoice(Self.facts(resolved: .pending(reason: "")), file: .file(Self.hand)).isPending)
    #expect(!ResolverChoice(Self.facts("hosts: files dns", resolved: .pending(reason: "")), file: .file(Self.hand)).isPending)
  }

  @Test("where nothing else can be set, systemd-resolved takes the names of glibc, and the others are told of") func onlyResolved() {
    let choice = ResolverChoice(Self.facts(), file: .untouchable(reason: "/etc/resolv.conf is a symbolic link to /mnt/wsl/resolv.conf"))
    #expect(choice.backend == .resolved && choice.obstacle == nil)
    #expect(choice.candidates.first { $0.isChosen }?.reason.contains("nsswitch.conf") == true)
    #expect(choice.remark?.contains("programs that read /etc/resolv.conf themselves (musl, Go) bypass the tunnel's servers") == true)
  }

  @Test("a host whose glibc asks no server is told, with the remedy") func unresolved() {
    let choice = ResolverChoice(Self.facts("hosts: files"), file: .file(Self.hand))
    #expect(choice.lookup == "programs of glibc ask no name server (`hosts: files` in /etc/nsswitch.conf)")
    #expect(choice.remark == choice.lookup.map { "\($0), so they resolve no name; cure: add `dns` to that line" })
  }

  @Test("a resolver of this machine that the file names keeps the names of no tunnel; NetworkManager's dnsmasq is one")
  func localResolver() {
    let cafe = Sample.network(Sample.wifi("Cafe", servers: ["198.51.100.1"]))
    func upstream(_ text: String) -> [String] {
      let facts = Self.facts("hosts: files dns", text: text)
      return UnderlayFit(cafe, resolver: ResolverChoice(facts, file: .file(text))).nameServers.map(\.description)
    }
    #expect(upstream("# Generated by NetworkManager\nnameserver 127.0.0.1\n") == ["127.0.0.1"])
    #expect(upstream("nameserver 127.0.0.1\nnameserver ::1\n") == ["127.0.0.1", "::1"])
    #expect(upstream("nameserver 127.0.0.1\nnameserver 198.51.100.9\n") == ["198.51.100.1"])
    // systemd-resolved's stub, with systemd-resolved: its links take the names.
    #expect(upstream("nameserver 127.0.0.53\n") == ["198.51.100.1"])
    // Ours, left by an agent that was killed.
    #expect(upstream("nameserver 127.82.0.53\n") == ["198.51.100.1"])
    #expect(upstream("nameserver 198.51.100.1\n") == ["198.51.100.1"])
    let choice = ResolverChoice(
      Self.facts("hosts: files dns", text: "# Generated by NetworkManager\nnameserver 127.0.0.1\n"), file: .file(""))
    #expect(
      choice.reason
        == "NetworkManager writes it, and it is written again after NetworkManager; the resolver at 127.0.0.1, which it names, stays in charge of"
        + " other names")
  }
}
