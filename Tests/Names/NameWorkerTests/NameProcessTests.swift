import Glibc
import LinuxIO
import NameProtocol
import NameServer
import NetworkTypes
import TestSupport
import Testing

private let canPlay = canMakeNamespaces && (try? shell("command -v dnsmasq dig")) != nil

/// `roamward-names` between real programs: dnsmasq as the network's name server and the tunnel's, dig and glibc as clients.
@Suite("The name server's process", .enabled(if: canPlay, "no namespaces, dnsmasq or dig here"), .serialized)
struct NameProcessTests {
  private static let stub = "127.82.0.53"

  /// The network's server at 127.1.0.1, the tunnel's at 127.2.0.1; what they were asked.
  private final class Stage {
    let driver: NameDriver
    let underlay: Background
    let inside: Background

    init(corp: Disposition = .connectAlways(trigger: 0)) throws {
      try shell("ip link set lo up")
      func dnsmasq(_ address: String, _ options: String) throws -> Background {
        let server = try Background(
          "exec dnsmasq --keep-in-foreground --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=\(address) "
            + "--port=53 --user=root --log-queries --log-facility=- --pid-file --cache-size=0 --edns-packet-max=1232 \(options)")
        // It answers when it is there.
        try shell("for i in $(seq 100); do dig +tries=1 +time=1 @\(address) ready.test >/dev/null && exit; sleep 0.05; done; exit 1")
        return server
      }
      let texts = (0..<20).map { "--txt-record=big.example,\(String(repeating: "x", count: 200))\($0)" }.joined(separator: " ")
      underlay = try dnsmasq(
        "127.1.0.1",
        "--address=/www.example/198.51.100.7 --address=/evil.example/10.77.0.66 --local=/corp.example/ --local=/test/ \(texts)")
      inside = try dnsmasq("127.2.0.1", "--address=/corp.example/10.77.0.5 --local=/test/")
      driver = try NameDriver()
      try driver.addPool(0, "127.0.0.1")
      try driver.addPool(1, "127.0.0.1")
      try driver.configure(Self.configuration(corp), domains: [("corp.example", 0)])
      try driver.listen(NameProcessTests.stub)
    }

    static func configuration(_ corp: Disposition) -> NameServerConfiguration {
      let servers = ["127.1.0.1", "127.2.0.1"].compactMap { IPAddress($0) }.map { Upstream($0) }
      return NameServerConfiguration(
        network: 1,
        groups: [
          UpstreamGroup(servers: [servers[0]], pool: 0, blocked: [IPPrefix("10.77.0.0/16")].compactMap { $0 }),
          UpstreamGroup(servers: [servers[1]], pool: 1, longestTTL: 60),
        ], triggers: [Trigger(name: "corp", group: 1)], dispositions: [corp], rest: .forward(group: 0), answersCanary: true)
    }

    func awaitStart() throws -> NameReport { try driver.next { if case .start = $0 { true } else { false } } }
  }

  private static func onStage<Value>(
    _ corp: Disposition = .connectAlways(trigger: 0), mounts: Bool = false, _ body: (Stage) throws -> Value
  ) throws -> Value {
    try inNamespaces(mounts: mounts) { try body(Stage(corp: corp)) }
  }

  private static func dig(_ question: String) -> String { "dig @\(stub) +tries=1 +time=6 \(question)" }

  @Test("names that are nobody's are forwarded and cached; a held one waits for its tunnel, and nobody outside sees it") func names() throws
  {
    try Self.onStage { stage in
      #expect(try shell(Self.dig("+short www.example")) == "198.51.100.7\n")
      #expect(try shell(Self.dig("+short www.example")) == "198.51.100.7\n")
      let first = try shell(Self.dig("nothing.test"))
      #expect(first.contains("status: NXDOMAIN") && first.contains("EDNS: version: 0"), "\(first)")
      let held = try Background(Self.dig("+noall +answer +comments git.corp.example"))
      guard case .start(0, "git.corp.example", 1, 1, let address, let port, false) = try stage.awaitStart() else {
        throw NameDriver.Trouble(description: "another report")
      }
      #expect(address.description == "127.0.0.1" && port > 0)
      #expect(try stage.driver.counters().held == 1)
      try stage.driver.send(.state(trigger: 0, state: .connected))
      let answer = try held.output()
      #expect(answer.contains("10.77.0.5") && answer.contains("status: NOERROR"), "\(answer)")
      #expect(!(try stage.underlay.written()).contains("git.corp.example"))
      #expect(try stage.inside.written().contains("git.corp.example"))
      let (counters, held2, open) = try stage.driver.counters()
      #expect(counters.held == 1 && held2 == 0 && open == 0 && counters.responses == 4, "\(counters)")
    }
  }

  @Test("a tunnel that does not come: SERVFAIL with an extended error after 4.5 s, then at once") func expiry() throws {
    try Self.onStage { stage in
      let start = Moment.now
      let answer = try shell(Self.dig("git.corp.example"))
      let waited = Moment.now - start
      #expect(answer.contains("status: SERVFAIL") && answer.contains("EDE: 22 (No Reachable Authority)"), "\(answer)")
      #expect(waited > .milliseconds(4490))
      #expect(try shell(Self.dig("git.corp.example")).contains("status: SERVFAIL"))
      try stage.driver.send(.state(trigger: 0, state: .failed))
      #expect(try shell(Self.dig("other.corp.example")).contains("status: SERVFAIL"))
    }
  }

  @Test("glibc waits for the tunnel, by its own look-up of both families") func glibc() throws {
    try Self.onStage(mounts: true) { stage in
      let folder = try TemporaryFolder()
      try TextFile.replace("\(folder.path)/resolv.conf", with: Array("nameserver \(Self.stub)\n".utf8), mode: 0o644)
      try TextFile.replace("\(folder.path)/nsswitch.conf", with: Array("hosts: files dns\n".utf8), mode: 0o644)
      try bind("\(folder.path)/resolv.conf", over: "/etc/resolv.conf")
      try bind("\(folder.path)/nsswitch.conf", over: "/etc/nsswitch.conf")
      let held = try Background("getent ahosts git.corp.example")
      _ = try stage.awaitStart()
      // Both of its questions wait.
      while try stage.driver.counters().held < 2 { usleep(1000) }
      try stage.driver.send(.state(trigger: 0, state: .starting))
      try stage.driver.send(.state(trigger: 0, state: .connected))
      #expect(try held.output().contains("10.77.0.5"))
      #expect(try shell("getent ahosts www.example").contains("198.51.100.7"))
      #expect(!(try stage.underlay.written()).contains("git.corp.example"))
    }
  }

  @Test("over TCP, also with several questions on a connection; a truncated answer is fetched over TCP") func streams() throws {
    try Self.onStage { stage in
      #expect(try shell(Self.dig("+tcp +short www.example")) == "198.51.100.7\n")
      #expect(try shell(Self.dig("+tcp +keepopen +short www.example") + " www.example A nothing.test A") == "198.51.100.7\n198.51.100.7\n")
      func awaitStream() throws -> (number: UInt32, address: String) {
        guard case .stream(let number, 0, let address, 53) = try stage.driver.next(where: { if case .stream = $0 { true } else { false } })
        else { throw NameDriver.Trouble(description: "another report") }
        return (number, address.description)
      }
      for (line, count) in [("+bufsize=4096 +ignore", 0), ("+tcp", 20)] {
        let big = try Background(Self.dig("\(line) big.example TXT"))
        let (number, address) = try awaitStream()
        try stage.driver.send(.stream(number: number, trouble: nil), try connectedSocket(address, port: 53))
        let answer = try big.output()
        #expect(answer.contains("status: NOERROR") && answer.contains("ANSWER: \(count)"), "\(answer)")
      }
      // Without a socket the client is told to come by TCP itself.
      let other = try Background(Self.dig("+ignore +cd big.example TXT"))
      try stage.driver.send(.stream(number: try awaitStream().number, trouble: "no route"))
      #expect(try other.output().contains(" tc "))
    }
  }

  /// A server that takes a connection and answers as its word says: `silent`, `half` of an answer, `drip` (a byte at a time), a `long` one
  /// of which nothing but its length comes, `closed`.
  private static let slowServer = #"""
    use strict; use warnings; use Socket; use Time::HiRes qw(sleep);
    socket(my $server, PF_INET, SOCK_STREAM, 0) or die; setsockopt($server, SOL_SOCKET, SO_REUSEADDR, 1);
    bind($server, pack_sockaddr_in(5300, inet_aton("127.3.0.1"))) or die; listen($server, 5) or die;
    $| = 1; print "ready\n";
    while (accept(my $client, $server)) {
      my ($head, $message) = ("", "");
      sysread($client, $head, 2); sysread($client, $message, unpack("n", $head));
      my $question = substr($message, 12, index($message, "\0", 12) - 12 + 5);
      my $answer = pack("nnnnnn", unpack("n", $message), 0x8180, 1, 1, 0, 0) . $question . pack("nnnNnCa4", 0xc00c, 16, 1, 300, 5, 4, "slow");
      $answer = pack("n", length $answer) . $answer;
      my $kind = $ARGV[0];
      if ($kind eq "half") { syswrite($client, substr($answer, 0, length($answer) / 2)) }
      if ($kind eq "drip") { for (split //, $answer) { syswrite($client, $_); sleep(0.01) } }
      if ($kind eq "long") { syswrite($client, "\xff\xff") }
      if ($kind eq "closed") { close($client) } else { sleep(20) }
    }
    """#

  @Test(
    "a server that is slow over TCP: a byte at a time is an answer; without one the client has a response in five seconds, and others do not wait",
    arguments: ["silent", "half", "drip", "long", "closed"])
  func slowServer(kind: String) throws {
    try Self.onStage { stage in
      let folder = try TemporaryFolder()
      try TextFile.replace("\(folder.path)/server", with: Array(Self.slowServer.utf8), mode: 0o644)
      let server = try Background("exec perl \(folder.path)/server \(kind)")
      let end = Moment.now + .seconds(20)
      while (try? server.written())?.contains("ready") != true, Moment.now < end { usleep(10_000) }
      let start = Moment.now
      let big = try Background(Self.dig("+bufsize=4096 +ignore big.example TXT"))
      guard case .stream(let number, 0, _, 53) = try stage.driver.next(where: { if case .stream = $0 { true } else { false } }) else {
        throw NameDriver.Trouble(description: "another report")
      }
      try stage.driver.send(.stream(number: number, trouble: nil), try connectedSocket("127.3.0.1", port: 5300))
      for _ in 0..<3 { #expect(try shell(Self.dig("+short www.example")) == "198.51.100.7\n") }
      let others = Moment.now - start
      let answer = try big.output()
      let waited = Moment.now - start
      #expect(answer.contains("slow") == (kind == "drip"), "\(answer)")
      // The client is told that there is more, or that there is nothing; `dig` waits for six seconds.
      #expect(kind == "drip" || answer.contains(" tc ") || answer.contains("SERVFAIL"), "\(answer)")
      #expect(kind == "drip" || kind == "closed" || others < waited, "others were answered meanwhile")
      #expect(try stage.driver.counters().open == 0)
      print("A server that is slow over TCP, \(kind): \(waited)")
    }
  }

  @Test("a client that sends half a message, and one that reads nothing, are cut off; others are answered meanwhile") func slowClients()
    throws
  {
    try Self.onStage { stage in
      let half = try (0..<3).map { _ in try connectedSocket(Self.stub, port: 53) }
      for one in half { _ = try one.write([0, 40, 1, 2][...]) }
      // More connections than there is room for: the oldest go.
      let many = try (0..<70).map { _ in try connectedSocket(Self.stub, port: 53) }
      #expect(try shell(Self.dig("+tcp +short www.example")) == "198.51.100.7\n")
      #expect(try shell(Self.dig("+short www.example")) == "198.51.100.7\n")
      for one in half { #expect(try hasEnded(one, within: .seconds(8))) }
      // Without a length that a message can have, at once.
      let wrong = try connectedSocket(Self.stub, port: 53)
      _ = try wrong.write([0, 3, 1, 2, 3][...])
      #expect(try hasEnded(wrong, within: .seconds(2)))
      withExtendedLifetime(many) {}
    }
  }

  private func hasEnded(_ file: FileDescriptor, within limit: Duration) throws -> Bool {
    let end = Moment.now + limit
    while Moment.now < end {
      var entry = pollfd(fd: file.number, events: Int16(POLLIN), revents: 0)
      if poll(&entry, 1, 100) > 0 { return (try? file.read())?.isEmpty ?? true }
    }
    return false
  }

  @Test("addresses of the tunnel that come from outside are withheld") func rebinding() throws {
    try Self.onStage { _ in
      let answer = try shell(Self.dig("evil.example"))
      #expect(answer.contains("status: SERVFAIL") && answer.contains("EDE: 15 (Blocked)"), "\(answer)")
    }
  }

  @Test("connect-if-needed: the network is asked first; where it does not know the name, the tunnel is started") func ifNeeded() throws {
    try Self.onStage(.connectIfNeeded(trigger: 0, first: 0)) { stage in
      let held = try Background(Self.dig("+short git.corp.example"))
      _ = try stage.awaitStart()
      try stage.driver.send(.state(trigger: 0, state: .connected))
      #expect(try held.output() == "10.77.0.5\n")
      #expect(try stage.underlay.written().contains("git.corp.example"))
    }
  }

  @Test("a new pool and a new network: former sockets are closed, and names go by the new ones") func renewed() throws {
    try Self.onStage { stage in
      #expect(try shell(Self.dig("+short www.example")) == "198.51.100.7\n")
      let before = Folder.names(in: "/proc/\(stage.driver.process)/fd").count
      try stage.driver.addPool(0, "127.0.0.1")
      try stage.driver.configure(Stage.configuration(.refuse), domains: [("corp.example", 0)])
      #expect(Folder.names(in: "/proc/\(stage.driver.process)/fd").count == before)
      #expect(try shell(Self.dig("+short +dnssec www.example")) == "198.51.100.7\n")
      // A datagram at a socket that the program has closed and the agent has not wakes it no more.
      func time() throws -> Int {
        let words = String(decoding: try TextFile.read("/proc/\(stage.driver.process)/stat"), as: UTF8.self).split(separator: " ")
        return (Int(words[13]) ?? 0) + (Int(words[14]) ?? 0)
      }
      for port in stage.driver.ports { try send(toPort: port) }
      let before2 = try time()
      sleep(1)
      #expect(try time() - before2 < 50)
      #expect(try shell(Self.dig("git.corp.example")).contains("EDE: 22"))
    }
  }

  /// Kilobytes of files in a process's memory.
  private func mappedFiles(_ folder: String) throws -> Int {
    let status = String(decoding: try TextFile.read("\(folder)/status"), as: UTF8.self).split(separator: "\n")
    return status.first { $0.hasPrefix("RssFile:") }?.split { " \t".contains($0) }.dropFirst().first.flatMap { Int($0) } ?? 0
  }

  private func send(toPort port: UInt16) throws {
    _ = try run(["/bin/bash", "-c", "echo x >/dev/udp/127.0.0.1/\(port)"])
  }

  @Test("it has nothing: no user's rights, no capability, no file, and sleeps when nothing is asked") func nothing() throws {
    try Self.onStage { stage in
      #expect(try shell(Self.dig("+short www.example")) == "198.51.100.7\n")
      let folder = "/proc/\(stage.driver.process)"
      let status = String(decoding: try TextFile.read("\(folder)/status"), as: UTF8.self).split(separator: "\n")
      func words(_ name: String) -> [Substring] {
        status.first { $0.hasPrefix(name) }?.split { " \t".contains($0) }.dropFirst().map { $0 } ?? []
      }
      let busy = try mappedFiles(folder)
      if geteuid() == 0 { #expect(words("Uid:").count == 4 && !words("Uid:").contains("0") && !words("Gid:").contains("0")) }
      for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] { #expect(words(set) == ["0000000000000000"], "\(set)") }
      #expect(words("NoNewPrivs:") == ["1"] && words("Seccomp:") == ["2"] && words("Threads:") == ["1"])
      let files = Folder.names(in: "\(folder)/fd").compactMap { Int($0) }.sorted().filter { $0 > 2 }.map {
        FileNature.linkTarget(of: "\(folder)/fd/\($0)") ?? ""
      }
      #expect(files.count > 30 && files.allSatisfy { $0.hasPrefix("socket:") || $0.hasPrefix("anon_inode:") }, "\(files)")
      // The deadline that was set for the question passes once.
      func switches() throws -> [Substring] {
        let status = String(decoding: try TextFile.read("\(folder)/status"), as: UTF8.self)
        return status.split(separator: "\n").filter { $0.hasPrefix("voluntary_ctxt_switches") }
      }
      // A second after orders, it gives back the pages of what only orders and the start run.
      let end = Moment.now + .seconds(20)
      repeat { sleep(2) } while try mappedFiles(folder) >= busy * 3 / 4 && Moment.now < end
      let idle = try mappedFiles(folder)
      #expect(idle < busy * 3 / 4, "\(busy) kB of files before, \(idle) kB after")
      // On a busy machine its last timers may come late.
      var before = try switches()
      for _ in 0..<5 {
        sleep(1)
        let now = try switches()
        if now == before { break }
        before = now
      }
      sleep(10)
      #expect(try switches() == before)
    }
  }

  @Test("it ends with the channel, and --check confines itself") func end() throws {
    let program = NameDriver.program
    #expect(try run([program, "--check"]).code == 0)
    #expect(try run([program, "--help"]).output.contains("usage: roamward-names"))
    #expect(try run([program, "--nonsense"]).code == 64)
  }
}
