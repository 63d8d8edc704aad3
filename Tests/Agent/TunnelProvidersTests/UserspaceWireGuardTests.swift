import Glibc
import KernelModel
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing
import TunnelProviders

private let canRun = canMakeNamespaces && access("/dev/net/tun", R_OK | W_OK) == 0 && (try? shell("command -v wg ip")) != nil

@Suite("the engine's process", .enabled(if: canRun, "needs wg, ip, /dev/net/tun and namespaces"))
struct UserspaceWireGuardTests {
  @Test("starts a link, takes a configuration that wg(8) reads back as we do, changes it, and leaves nothing behind")
  func life() throws {
    try lab { _ in
      try start("rw0")
      var device = WireGuardDevice(
        keys: KeyPair(), port: 51999, peers: [peer("192.0.2.1:51820", ["10.1.0.0/16"], 25), peer(nil, ["2001:db8::/32"])])
      try engine { wireGuard in
        #expect(wireGuard.isRunning("rw0"))
        // The device has queues of its own: a discipline for each of the 256 it may have would take half a millisecond when it comes up.
        #expect(try shell("ip link show rw0").contains("qdisc noqueue"))
        #expect(try wireGuard.read("rw0")?.publicKey == nil)
        try wireGuard.configure("rw0", device, observed: nil)
        let state = try #require(try wireGuard.read("rw0"))
        #expect(device.isSatisfied(by: state))
        #expect(state.cipher?.hasPrefix("lib") == true)
        #expect(state.peers.first { $0.endpoint != nil }?.endpoint == Endpoint("192.0.2.1:51820"))
        #expect(try dump("rw0") == expectedDump(device))

        device.peers.removeLast()
        device.peers[0].allowedIPs = ["10.9.0.0/16", "10.8.0.0/16"].compactMap(IPPrefix.init)
        device.peers[0].presharedKey = nil
        device.peers.append(peer("[2001:db8::9]:7", ["10.1.0.0/16"]))
        device.firewallMark = 0x5200_0001
        try wireGuard.configure("rw0", device, observed: state)
        let changed = try #require(try wireGuard.read("rw0"))
        #expect(device.isSatisfied(by: changed))
        #expect(try dump("rw0") == expectedDump(device))

        device.peers[1].endpoint = Endpoint("192.0.2.7:8")
        device.peers[1].persistentKeepalive = 9
        try wireGuard.setEndpointsAndKeepalives("rw0", [device.peers[1], peer("192.0.2.3:1", [])])
        #expect(try dump("rw0") == expectedDump(device))
      }
      try stop("rw0")
      #expect(try remains() == [])
    }
  }

  @Test("a state is read from the engine that is there, also after another one of the same link") func nextEngine() throws {
    try lab { _ in
      try engine { wireGuard in
        for port in [UInt16(51001), 51002, 51003] {
          try start("rw0")
          try wireGuard.configure("rw0", WireGuardDevice(keys: KeyPair(), port: port, peers: []), observed: nil)
          for _ in 0..<3 { #expect(try wireGuard.read("rw0")?.listenPort == port) }
          // Another one ends it: this one has kept its connection.
          try stop("rw0")
          #expect(try wireGuard.read("rw0") == nil)
        }
      }
      #expect(try remains() == [])
    }
  }

  @Test("ends, with its socket, where the printed undo of its link is typed") func typedUndo() throws {
    try lab { _ in
      try start("rw0")
      let undo = try #require(Step.addWireGuardLink("rw0", .userspace).undo)
      #expect(undo.isCommand)
      try shell("\(undo)")
      let left = try remains()
      #expect(left == [], "\(left)")
    }
  }

  @Test("carries sessions, which live on through a change of something else and end where all is set anew")
  func sessions() throws {
    try lab { _ in
      let (near, far) = (KeyPair(), KeyPair())
      try startPair(near, far)
      try engine { wireGuard in
        let state = try #require(try wireGuard.read("rw0"))
        let handshake = try #require(state.lastHandshake)
        #expect(abs(handshake - Int64(time(nil))) < 60)
        #expect(state.peers[0].receivedBytes > 0 && state.peers[0].sentBytes > 0)

        var device = WireGuardDevice(keys: near, port: 51001, peers: [])
        device.peers = [
          WireGuardPeer(publicKey: far.publicKey, allowedIPs: ["10.9.0.0/16"].compactMap(IPPrefix.init), persistentKeepalive: 2),
          peer(nil, ["10.8.0.0/16"]),
        ]
        try wireGuard.configure("rw0", device, observed: state)
        let changed = try #require(try wireGuard.read("rw0"))
        #expect(changed.lastHandshake == handshake)
        #expect(changed.peers.first { $0.publicKey == far.publicKey }?.endpoint == Endpoint("127.0.0.1:51002"))
        try wireGuard.configure("rw0", device, observed: nil)
        #expect(try wireGuard.read("rw0")?.lastHandshake == nil)
      }
      for name in ["rw0", "rw1"] { try stop(name) }
      #expect(try remains() == [])
    }
  }

  @Test(
    "what a killed agent or engine leaves is ended by the link's name, and a new start follows at once",
    arguments: [
      "true", "ip link del rw0", "ip link del rw0; sleep 0.3", "pkill -KILL -x roamward-wg --ns $$ --nslist net; sleep 0.1",
      "rm /run/wireguard/rw0.sock",
    ])
  func leftover(accident: String) throws {
    try lab { _ in
      // The provider that started it is gone by now.
      try start("rw0")
      try shell(accident)
      let results: [Result<Void, ProviderError>] = try onLoop { loop, done in
        let wireGuard = UserspaceWireGuard(on: loop)
        wireGuard.stop(link: "rw0") { stopped in wireGuard.start(link: "rw0") { done([stopped, $0]) } }
        return wireGuard
      }
      for result in results { #expect(throws: Never.self) { try result.get() } }
      try engine { #expect($0.isRunning("rw0")) }
      try stop("rw0")
      #expect(try remains() == [])
    }
  }

  @Test("a process that waits for a link takes it at once, and looks like one that was started for it")
  func standby() throws {
    try lab { _ in
      let loop = try EventLoop()
      let wireGuard = UserspaceWireGuard(on: loop)
      #expect(!wireGuard.startAtOnce(link: "rw0"), "none waits")
      wireGuard.keepReady(true)
      wireGuard.keepReady(true)
      #expect(try waiting().count == 1)
      #expect(!wireGuard.startAtOnce(link: "no/link"))
      #expect(!wireGuard.isNew("rw0") && wireGuard.startAtOnce(link: "rw0") && wireGuard.isNew("rw0"))
      let device = WireGuardDevice(keys: KeyPair(), port: 51999, peers: [peer("192.0.2.1:51820", ["10.1.0.0/16"], 25)])
      try wireGuard.configure("rw0", device, observed: nil)
      #expect(!wireGuard.isNew("rw0"), "others may have changed it from now on")
      try shell("ip link set rw0 up")
      // On a busy machine the engine takes longer to notice that than is waited for.
      var hasSockets = false
      for _ in 0..<1000 where !hasSockets {
        wireGuard.serveSockets(of: "rw0")
        hasSockets = try !shell("ss -Huln 'sport = :51999'").isEmpty
      }
      #expect(hasSockets)
      #expect(try dump("rw0") == expectedDump(device))
      #expect(try waiting().isEmpty && !wireGuard.startAtOnce(link: "rw1"), "it waited for one link")
      let engine = try shell("pgrep -x roamward-wg --ns $$ --nslist net").filter(\.isNumber)
      #expect(try shell("tr '\\0' ' ' </proc/\(engine)/cmdline").hasPrefix("roamward-wireguard --at-work rw0 --offloads 15 "))
      #expect(try shell("tr -d '\\0' </proc/\(engine)/environ") == "ROAMWARD_LINK=rw0")
      let confinement = try shell("awk '/^(CapPrm|Seccomp):/ { print $2 }' /proc/\(engine)/status")
      #expect(confinement == "0000000000000000\n2\n")
      try stop("rw0")
      #expect(try remains() == [])
    }
  }

  @Test("a waiting process ends with its provider, and when it is not wanted; one that was killed is not replaced")
  func endOfStandby() throws {
    try lab { _ in
      try onLoop { loop, done in
        let wireGuard = UserspaceWireGuard(on: loop)
        wireGuard.keepReady(true)
        #expect(try waiting().count == 1)
        wireGuard.keepReady(false)
        #expect(try waiting(0).isEmpty)
        wireGuard.keepReady(true)
        try shell("kill -KILL \(try waiting().joined(separator: " "))")
        // It goes some time after that.
        #expect(try waiting(0).isEmpty)
        let look = try loop.at(.now + .milliseconds(300)) {
          #expect(!wireGuard.startAtOnce(link: "rw0"))
          wireGuard.keepReady(true)
          #expect(((try? waiting(0)) ?? []).isEmpty)
          done(())
        }
        return (wireGuard, look)
      }
      try engine { $0.keepReady(true) }
      #expect(try waiting(0).isEmpty)
    }
  }

  @Test("a start while the same link is being stopped waits for that; a stop during a start ends it")
  func crossing() throws {
    try lab { _ in
      try start("rw0")
      let restarted: Result<Void, ProviderError> = try onLoop { loop, done in
        let wireGuard = UserspaceWireGuard(on: loop)
        wireGuard.stop(link: "rw0")
        wireGuard.start(link: "rw0", then: done)
        return wireGuard
      }
      #expect(throws: Never.self) { try restarted.get() }
      try stop("rw0")
      for delay in [0, 2, 5, 10, 20, 40, 80] {
        var isStopping = false
        let stopped: Result<Void, ProviderError> = try onLoop { loop, done in
          let wireGuard = UserspaceWireGuard(on: loop)
          wireGuard.start(link: "rw1") { _ in #expect(!isStopping) }
          let source = try loop.at(.now + .milliseconds(delay)) {
            isStopping = true
            wireGuard.stop(link: "rw1", then: done)
          }
          return (wireGuard, source)
        }
        #expect(throws: Never.self) { try stopped.get() }
      }
      #expect(try remains() == [])
    }
  }

  @Test("says what is missing, and what would cure it")
  func failures() throws {
    try lab { _ in
      let missing = #expect(throws: ProviderError.self) { try start("rw0", program: "engine-that-is-not-there") }
      #expect(missing?.help == "install engine-that-is-not-there beside roamwardd")
      #expect(throws: ProviderError.self) { try start("no/link") }
      // A program that another test starts in this moment has a copy of the device for as long.
      #expect(try remains() == [])
      try shell("ip link add rw0 type veth peer name rw1")
      let busy = #expect(throws: ProviderError.self) { try start("rw0") }
      #expect(busy?.message.contains("TUN device") == true, "\(String(describing: busy))")
      try engine { wireGuard throws in
        #expect(try wireGuard.read("rw0") == nil)
        #expect(throws: ProviderError.self) { try wireGuard.setEndpointsAndKeepalives("rw0", [peer(nil, [])]) }
      }
    }
  }

  @Test("one question after another on a connection is answered, however long the answer before had to wait for its reader")
  func questionsInARow() throws {
    try lab { _ in
      try start("rw0")
      let connection = try FileDescriptor.connect(to: UserspaceWireGuard.socketPath(of: "rw0"), nonBlocking: true)
      // Answers of half a mebibyte, more than the kernel keeps for a socket.
      let prefixes = (0..<20_000).map { "allowed_ip=10.\($0 >> 8).\($0 & 255).0/24\n" }.joined()
      let key = String(repeating: "5", count: 64)
      let texts = ["set=1\npublic_key=\(key)\n\(prefixes)\n", "get=1\n\nget=1\n\n"]
      // Each answer ends with an empty line.
      var (answers, bytes, last) = (0, 0, UInt8(0))
      for (text, count) in zip(texts, [1, 3]) {
        var rest = Array(text.utf8)[...]
        let end = Moment.now + .seconds(60)
        while answers < count, Moment.now < end {
          if !rest.isEmpty { rest = rest.dropFirst(try connection.write(rest)) }
          usleep(5_000)
          while let part = try connection.read(), let first = part.first {
            answers += zip(part, part.dropFirst()).count { $0 == 10 && $1 == 10 } + (last == 10 && first == 10 ? 1 : 0)
            (bytes, last) = (bytes + part.count, part.last ?? 0)
          }
        }
      }
      #expect(answers == 3)
      #expect(bytes > 800_000)
      try stop("rw0")
      #expect(try remains() == [])
    }
  }

  @Test("a mark that nobody can set any more is refused, and the sockets without it stay")
  func orphan() throws {
    try lab { _ in
      // Comes back without the provider, which alone could open others.
      try startPair(KeyPair(), KeyPair())
      let sockets = "ss -Huln 'sport = :51001'"
      let before = try shell(sockets)
      #expect(!before.isEmpty)
      let refusal = try shell("wg set rw0 fwmark 0x5 2>&1 || true")
      #expect(refusal.contains("Unable to modify interface"), "\(refusal)")
      let after = try shell(sockets)
      #expect(after == before)
      #expect(try shell("wg show rw0 fwmark") == "0x\(String(Ownership.mark, radix: 16))\n")
      for name in ["rw0", "rw1"] { try stop(name) }
      #expect(try remains() == [])
    }
  }

  @Test("an engine that hangs is killed, and its link goes with it") func stopped() throws {
    try lab { _ in
      let result: Result<Void, ProviderError> = try onLoop { loop, done in
        let wireGuard = UserspaceWireGuard(on: loop)
        wireGuard.start(link: "rw0") { started in
          #expect(throws: Never.self) {
            try started.get()
            #expect(try wireGuard.read("rw0") != nil)
            try shell("pkill --signal STOP --exact roamward-wg --ns $$ --nslist net")
          }
          #expect(throws: ProviderError.self) { try wireGuard.read("rw0") }
          wireGuard.stop(link: "rw0", then: done)
        }
        return wireGuard
      }
      try result.get()
      #expect(try remains() == [])
    }
  }

  @Test("an engine that hangs holds the agent up for a second, not for ever")
  func hangs() throws {
    try lab { folder in
      try shell("mkdir \(folder)/sockets")
      let server = try FileDescriptor.listen(at: "\(folder)/sockets/rw0.sock", mode: 0o600)
      let begin = ContinuousClock.now
      let loop = try EventLoop()
      let wireGuard = UserspaceWireGuard(on: loop, socketDirectory: "\(folder)/sockets")
      // The first question takes its second, and the others none.
      for _ in 0..<30 { #expect(throws: ProviderError.self) { try wireGuard.read("rw0") } }
      #expect((.milliseconds(900) ... .seconds(15)).contains(ContinuousClock.now - begin))
      withExtendedLifetime(server) {}
    }
  }
}
