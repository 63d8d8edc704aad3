import AgentCore
import AgentDaemon
import ControlProtocol
import Glibc
import JSON
import LinuxIO
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

@Suite("The server of the local socket")
struct ControlServerTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/s.sock" }
  private let status = Array("{\"version\":2,\"request\":{\"status\":{}}}\n".utf8)

  init() throws { folder = try TemporaryFolder() }

  private func requests(_ count: Int) -> [UInt8] { Array(repeatElement(status, count: count).joined()) }

  @Test("answers one request for each turn of the loop, and what is more urgent comes in between")
  func turns() throws {
    var order: [Character] = []
    var answers = 0
    try onLoop { loop, done in
      var ends: [Int32] = [0, 0]
      #expect(pipe(&ends) == 0)
      let (urgent, tick) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
      let server = try ControlServer(path: path, loop: loop) { _, _ in
        order.append("a")
        _ = try? tick.write([1])
        answers += 1
        if answers == 50 { done(()) }
        return .done([:])
      }
      let client = try FileDescriptor.connect(to: path)
      try client.writeAll(requests(60))
      let source = try loop.whenReadable(urgent.number) {
        _ = try? urgent.read(atMost: 1)
        order.append("u")
      }
      return [server, client, source, urgent, tick] as [AnyObject]
    }
    #expect(String(order).hasPrefix(String(repeating: "au", count: 49)))
  }

  @Test("answers nothing where nothing is more than read while something urgent is always there")
  func priority() throws {
    var answers = 0
    var urgent = 0
    try onLoop { loop, done in
      var ends: [Int32] = [0, 0]
      #expect(pipe(&ends) == 0)
      let (reading, writing) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
      let server = try ControlServer(path: path, loop: loop) { _, _ in
        answers += 1
        return .done([:])
      }
      let client = try FileDescriptor.connect(to: path)
      try client.writeAll(requests(1))
      _ = try writing.write([1])
      // Never read, so always pending.
      let source = try loop.whenReadable(reading.number) {
        urgent += 1
        if urgent == 1000 { done(()) }
      }
      return [server, client, source, reading, writing] as [AnyObject]
    }
    #expect((answers, urgent) == (0, 1000))
  }

  @Test("answers nothing to a client that has hung up, whatever it has asked before")
  func hangUp() throws {
    var answers = 0
    try onLoop { loop, done in
      let server = try ControlServer(path: path, loop: loop) { _, _ in
        answers += 1
        return .done([:])
      }
      for _ in 0..<10 {
        let client = try FileDescriptor.connect(to: path)
        try client.writeAll(requests(1000))
      }
      return [server, try loop.at(.now + .milliseconds(500)) { done(()) }] as [AnyObject]
    }
    #expect(answers == 0)
  }

  @Test("answers no more once a client hangs up in the middle of its requests")
  func hangUpMidway() throws {
    var answers = 0
    try onLoop { loop, done in
      var client: FileDescriptor?
      let server = try ControlServer(path: path, loop: loop) { _, _ in
        answers += 1
        if answers == 3 { client = nil }
        return .done([:])
      }
      client = try FileDescriptor.connect(to: path)
      try client?.writeAll(requests(1000))
      return [server, try loop.at(.now + .milliseconds(300)) { done(()) }] as [AnyObject]
    }
    #expect(answers == 3)
  }

  @Test("takes no request while an answer is not taken, and all of them as soon as it is")
  func slowReader() throws {
    var answers = 0
    var whileNotTaken = 0
    var taken = 0
    let answer = JSON.string(String(repeating: "x", count: 300_000))
    let _: Void = try onLoop { loop, done in
      var client: FileDescriptor?
      var (reader, later): (EventSource?, EventSource?) = (nil, nil)
      func take() {
        whileNotTaken = answers
        guard let client else { return }
        reader = try? loop.whenReadable(client.number) {
          taken += (try? client.read())?.count { $0 == UInt8(ascii: "\n") } ?? 0
          if taken == 50 { done(()) }
        }
      }
      let server = try ControlServer(path: path, loop: loop) { _, _ in
        answers += 1
        // Some time after the first answer, whenever that is.
        if answers == 1 { later = try? loop.at(.now + .milliseconds(300)) { take() } }
        return .done(answer)
      }
      let connection = try FileDescriptor.connect(to: path, nonBlocking: true)
      client = connection
      _ = try connection.write(requests(50)[...])
      return (server, connection, { (reader, later) })
    }
    #expect(whileNotTaken == 1)
    #expect((answers, taken) == (50, 50))
  }

  @Test("an answer of any length reaches a slow reader; one that takes nothing of it is disconnected", arguments: [true, false])
  func longAnswers(isReading: Bool) throws {
    let text = String(repeating: "x", count: 3 << 20)
    let reader = SlowReader(piece: isReading ? 65_536 : 1 << 22, pause: isReading ? .milliseconds(300) : .seconds(12))
    try onLoop { (loop, done: @escaping (()) -> Void) in
      let server = try ControlServer(path: path, loop: loop) { _, _ in .done(["text": .string(text)]) }
      let client = try FileDescriptor.connect(to: path, nonBlocking: true)
      try client.writeAll(requests(1))
      reader.read(client, on: loop) { done(()) }
      return [server, client] as [AnyObject]
    }
    #expect(reader.isWhole == isReading && (reader.taken > text.utf8.count) == isReading, "\(reader.taken)")
  }

  /// Takes a piece after each pause, until there is no more.
  private final class SlowReader {
    private(set) var taken = 0
    private(set) var isWhole = false
    private let piece: Int
    private let pause: Duration
    private var timer: EventSource?

    init(piece: Int, pause: Duration) {
      self.piece = piece
      self.pause = pause
    }

    func read(_ client: FileDescriptor, on loop: EventLoop, then done: @escaping () -> Void) {
      timer = try? loop.at(.now + pause) { [self] in
        guard let bytes = try? client.read(atMost: piece), !bytes.isEmpty else { return done() }
        taken += bytes.count
        isWhole = bytes.last == UInt8(ascii: "\n")
        if isWhole { done() } else { read(client, on: loop, then: done) }
      }
    }
  }

  @Test("lets a half-closed client have its answers")
  func halfClosed() throws {
    var lines = 0
    try onLoop { loop, done in
      let server = try ControlServer(path: path, loop: loop) { _, _ in .done([:]) }
      let client = try FileDescriptor.connect(to: path)
      try client.writeAll(requests(5))
      shutdown(client.number, Int32(SHUT_WR))
      let reader = try loop.whenReadable(client.number) {
        guard let bytes = try? client.read(), !bytes.isEmpty else { return done(()) }
        lines += bytes.count { $0 == UInt8(ascii: "\n") }
      }
      return [server, client, reader] as [AnyObject]
    }
    #expect(lines == 5)
  }

  @Test("counts the turns of those who may only look, also where they send half lines, and not those of owners", arguments: [true, false])
  func budget(isOwner: Bool) throws {
    var answers = 0
    try onLoop { loop, done in
      let server = try ControlServer(path: path, loop: loop, isOwner: { _ in isOwner }) { _, _ in
        answers += 1
        if answers == 3000 { done(()) }
        return .done([:])
      }
      let clients = try (0..<10).map { _ in try FileDescriptor.connect(to: path) }
      for client in clients { try client.writeAll(requests(300)) }
      let readers = try clients.map { client in try loop.whenReadable(client.number) { _ = try? client.read() } }
      let begin = Moment.now
      var end: EventSource?
      func look() {
        guard !isOwner else { return }
        // A busy machine needs longer for them.
        if answers < 50 {
          end = try? loop.at(.now + .milliseconds(100)) { look() }
          return
        }
        // 100 at once, and 50 a second after that.
        #expect(answers <= 100 + 50 * ((Moment.now - begin).milliseconds + 100) / 1000)
        done(())
      }
      end = try loop.at(begin + .milliseconds(400)) { look() }
      return (server, clients, readers, { end })
    }
    if isOwner { #expect(answers == 3000) }
  }

  @Test("keeps the events of a burst for a monitor; one that lets very many pile up is disconnected", arguments: [10_000, 100_000])
  func bursts(count: Int) throws {
    var (lines, isEnded, hasBegun) = (0, false, false)
    try onLoop { (loop, done: @escaping (()) -> Void) in
      let server = try ControlServer(path: path, loop: loop) { _, _ in .done([:]) }
      let client = try FileDescriptor.connect(to: path, nonBlocking: true)
      try client.writeAll(Array((Request.monitor().json.text() + "\n").utf8))
      let reader = try loop.whenReadable(client.number) {
        guard let bytes = try? client.read(), !bytes.isEmpty else {
          isEnded = true
          return done(())
        }
        lines += bytes.count { $0 == UInt8(ascii: "\n") }
        if !hasBegun {
          hasBegun = true
          for _ in 0..<count { server.publish(Event(time: Timestamp(seconds: 1), kind: .policy(generation: 7, errors: 0, warnings: 0))) }
        }
        if lines > count { done(()) }
      }
      return [server, client, reader] as [AnyObject]
    }
    #expect(count == 10_000 ? lines == count + 1 && !isEnded : isEnded && lines < count)
  }

  @Test("shows look-ups and providers' logs to owners alone, and everything else to everybody", arguments: [true, false])
  func others(isOwner: Bool) throws {
    var said: [UInt8] = []
    try onLoop { loop, done in
      let server = try ControlServer(path: path, loop: loop, isOwner: { _ in isOwner }) { _, _ in .done([:]) }
      let client = try FileDescriptor.connect(to: path)
      try client.writeAll(Array((Request.monitor().json.text() + "\n").utf8))
      var isMonitor = false
      let reader = try loop.whenReadable(client.number) {
        said += (try? client.read()) ?? []
        if !isMonitor {
          isMonitor = true
          let lookup = NameLookup(tunnel: "corp", name: "secret.example", asker: nil)
          server.publish(Event(time: Timestamp(seconds: 1), kind: .lookup(lookup)))
          server.publish(Event(time: Timestamp(seconds: 1), kind: .providerLog(tunnel: "corp", level: "info", origin: "x", text: "secret")))
          server.publish(Event(time: Timestamp(seconds: 1), kind: .policy(generation: 7, errors: 0, warnings: 0)))
        }
        if String(decoding: said, as: UTF8.self).contains("\"generation\":7") { done(()) }
      }
      return [server, client, reader] as [AnyObject]
    }
    let text = String(decoding: said, as: UTF8.self)
    #expect(text.contains("secret.example") == isOwner && text.contains("\"secret\"") == isOwner)
  }

  @Test("the status for other users is without the names that programs look up") func statusOfOthers() {
    var tunnel = StatusReport.Tunnel(
      name: "corp", state: "connected", since: Timestamp(seconds: 1), isEnabled: true, decision: .connect, rule: nil, reason: "")
    tunnel.lookup = .init(NameLookup(tunnel: "corp", name: "secret.example"))
    let report = StatusReport(
      time: Timestamp(seconds: 1), process: 1, policy: .init(generation: 1, files: 1), primary: .init(link: nil, type: nil, ssid: nil),
      tunnels: [tunnel])
    #expect(report.withoutOthers.tunnels.map(\.name) == ["corp"] && report.withoutOthers.tunnels[0].lookup == nil)
  }

  @Test("refuses a long request of those who may only look, and ends the connection")
  func longRequest() throws {
    var said: [UInt8] = []
    try onLoop { loop, done in
      let server = try ControlServer(path: path, loop: loop, isOwner: { _ in false }) { _, _ in .done([:]) }
      let client = try FileDescriptor.connect(to: path)
      try client.writeAll(Array(repeating: UInt8(ascii: " "), count: 100_000))
      let reader = try loop.whenReadable(client.number) {
        guard let bytes = try? client.read(), !bytes.isEmpty else { return done(()) }
        said += bytes
      }
      return [server, client, reader] as [AnyObject]
    }
    #expect(String(decoding: said, as: UTF8.self).contains("the request exceeds 65536 bytes; as root, up to 524288 are taken"))
  }

  @Test("has a socket for owners alone, and an owner's connection does not give way to others'")
  func owners() throws {
    var status = stat()
    var answers = 0
    let crowd =
      "alarm 50; push @all, IO::Socket::UNIX->new(Peer => $ARGV[0]) // die $! for 1..150; $| = 1; print qq(all\\n); sleep 3"
    try onLoop { loop, done in
      let server = try ControlServer(path: path, loop: loop, isOwner: { $0.process == getpid() }) { _, _ in
        answers += 1
        return .done([:])
      }
      #expect(stat(ControlSocket.ownersPath(of: path), &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600)
      let owner = try FileDescriptor.connect(to: ControlSocket.ownersPath(of: path), nonBlocking: true)
      let others = try ChildProcess(
        ["perl", "-MIO::Socket::UNIX", "-e", crowd, path], timeout: .seconds(50), on: loop
      ) { outcome in
        #expect(outcome.output == "all\n")
        _ = try? owner.write(requests(1)[...])
      }
      let reader = try loop.whenReadable(owner.number) {
        #expect((try? owner.read())??.isEmpty == false)
        done(())
      }
      return [server, owner, others, reader] as [AnyObject]
    }
    #expect(answers == 1)
  }
}

@Suite("The turns of a user")
struct RequestBudgetTests {
  private func moment(_ milliseconds: Int) -> Moment { Moment(nanoseconds: 1_000_000_000) + .milliseconds(milliseconds) }

  @Test("are as many at once as its bucket holds, then as many a second as flow in")
  func rate() {
    var budget = RequestBudget(each: .init(burst: 10, perSecond: 5), together: .init(burst: 1000, perSecond: 1000))
    var granted = 0
    for time in 0..<10_000 where budget.take(for: 1000, at: moment(time)) == nil { granted += 1 }
    #expect((58...60).contains(granted))
  }

  @Test("come again when it says")
  func next() throws {
    var budget = RequestBudget(each: .init(burst: 2, perSecond: 4), together: .init(burst: 1000, perSecond: 1000))
    #expect(budget.take(for: 1, at: moment(0)) == nil)
    #expect(budget.take(for: 1, at: moment(0)) == nil)
    let refused = budget.take(for: 1, at: moment(0))
    let next = try #require(refused)
    #expect(next > moment(249) && next < moment(252))
    #expect(budget.take(for: 1, at: next) == nil)
  }

  @Test("are its own: one user's greed leaves others theirs")
  func others() {
    var budget = RequestBudget()
    for _ in 0..<10_000 { _ = budget.take(for: 1000, at: moment(0)) }
    for _ in 0..<100 { #expect(budget.take(for: 1001, at: moment(0)) == nil) }
  }

  @Test("are bounded for all together, as one person can have many numbers")
  func together() {
    var budget = RequestBudget()
    var granted = 0
    for time in 0..<1000 {
      for user in 0..<100 where budget.take(for: UInt32(100_000 + time * 100 + user), at: moment(time)) == nil { granted += 1 }
    }
    #expect((590...600).contains(granted))
  }
}
