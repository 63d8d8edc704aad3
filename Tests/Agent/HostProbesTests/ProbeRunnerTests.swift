import Glibc
import HostProbes
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

private let fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

@Suite("A probe", .enabled(if: canMakeNamespaces, "no namespaces here"))
struct ProbeRunnerTests {
  private func probe(
    _ url: String = "http://beacon.example:PORT/a?b=c", timeout: Duration = .seconds(20), bodyLimit: Int = 0, accept: String? = nil,
    names: [String] = ["127.0.0.1"], address: String = "127.0.0.1", change: (inout ProbePassage) -> Void = { _ in },
    answer: @escaping (String) -> TinyHTTPServer.Answer
  ) throws -> (reply: ProbeReply, requests: [String], sent: Int, questions: [String]) {
    try inNamespaces {
      try ProbeBench.reply(
        to: ProbeRequest(url: url, timeout: timeout, accept: accept, bodyLimit: bodyLimit), names: names,
        serve: { try TinyHTTPServer(on: $0, address: address, answer: answer) }, change: change)
    }
  }

  @Test("looks the name up past the system's resolver, asks once, and tells nothing about the machine")
  func plain() throws {
    let (reply, requests, _, questions) = try probe { _ in .text(fine) }
    #expect(reply == .response(status: 200))
    #expect(questions.sorted() == ["beacon.example a", "beacon.example aaaa"])
    let request = try #require(requests.first)
    #expect(requests.count == 1)
    let lines = request.split(separator: "\r\n").map(String.init)
    #expect(lines.first == "GET /a?b=c HTTP/1.1")
    #expect(Set(lines.dropFirst().compactMap { $0.split(separator: ":").first.map(String.init) }) == ["Host", "Accept"], "\(lines)")
  }

  @Test(
    "gives the status as it is, and follows no redirect",
    arguments: [200, 204, 301, 302, 303, 307, 308, 401, 404, 407, 500, 511])
  func statuses(status: Int) throws {
    let (reply, requests, _, questions) = try probe { _ in
      .text("HTTP/1.1 \(status) Whatever\r\nLocation: http://elsewhere.example:1/\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")
    }
    #expect(reply == .response(status: status))
    #expect(requests.count == 1 && !questions.contains { $0.contains("elsewhere") })
  }

  @Test("an answer that comes after 103 or 100 is the answer")
  func informational() throws {
    let (reply, _, _, _) = try probe { _ in .text("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n") }
    #expect(reply == .response(status: 204))
  }

  @Test("no proxy of the environment comes between", arguments: ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
  func environment(variable: String) throws {
    setenv(variable, "http://127.0.0.1:1", 1)
    defer { unsetenv(variable) }
    #expect(try probe { _ in .text(fine) }.reply == .response(status: 200))
  }

  @Test("goes by IPv6 where the name has only that, and to an address without asking anybody")
  func version6() throws {
    #expect(try probe(names: ["::1"], address: "::1") { _ in .text(fine) }.reply == .response(status: 200))
    let (reply, requests, _, questions) = try probe("http://[::1]:PORT/", address: "::1") { _ in .text(fine) }
    #expect(reply == .response(status: 200) && questions == [])
    #expect(requests.first?.contains("Host: [::1]:") == true)
  }

  @Test("tries the name's other addresses, of either family, where nobody listens at the first")
  func fallsBack() throws {
    #expect(try probe(names: ["::1", "127.0.0.2", "127.0.0.1"]) { _ in .text(fine) }.reply == .response(status: 200))
  }

  @Test("a name that does not resolve, a closed port, a server that hangs up: nobody answered")
  func unanswered() throws {
    let cases: [(String, TinyHTTPServer.Answer)] = [
      ("http://nowhere.example:PORT/", .text(fine)), ("http://beacon.example:1/", .text(fine)), ("http://beacon.example:PORT/", .hangUp),
      ("http://beacon.example:PORT/", .text("SSH-2.0-OpenSSH_9.2\r\n")), ("https://beacon.example:PORT/", .text(fine)),
    ]
    for (url, answer) in cases {
      let reply = try probe(url) { _ in answer }.reply
      guard case .unanswered = reply else { return #expect(Bool(false), "\(url): \(reply)") }
    }
    guard case .unanswered(let reason) = try probe("http://nowhere.example/", answer: { _ in .hangUp }).reply else { return }
    #expect(reason == "there is no name nowhere.example")
  }

  @Test("gives up in its own time, wherever it stands", arguments: ["", "HTTP/1.1 200 OK\r\nContent-Le"])
  func timesOut(beginning: String) throws {
    // Its time includes the start of the program, which takes longer than that on a busy machine.
    let times: [(Duration, String)] = [(.milliseconds(300), "0.3"), (.seconds(3), "3.0"), (.seconds(20), "20.0")]
    for (time, words) in times {
      let begin = Moment.now
      let (reply, requests, _, _) = try probe(timeout: time) { _ in .stay(beginning) }
      if requests.isEmpty, time != .seconds(20) { continue }
      #expect(reply == .unanswered(reason: "no answer within \(words) seconds"))
      #expect(requests.count == 1 && Moment.now - begin >= time)
      break
    }
    for (time, _) in times {
      let silent = try inNamespaces {
        try ProbeBench.reply(to: ProbeRequest(url: "http://beacon.example/", timeout: time), names: [], serve: { _ in nil }) {
          // Nobody is there: 192.0.2.1 has no route, so it is a name server that never answers on loopback that is wanted.
          $0.nameServers = .known([IPAddress("127.0.0.77")].compactMap { $0 })
        }
      }
      if case .unsent(let reason) = silent.reply, reason.contains("was not ready within"), time != .seconds(20) { continue }
      guard case .unanswered = silent.reply else { return #expect(Bool(false), "\(silent.reply)") }
      break
    }
  }

  @Test("knows the answer once the headers are there, and reads nothing more: a body without end costs nothing")
  func bodyBomb() throws {
    let many = 200_000_000
    let (reply, _, sent, _) = try probe { _ in .flood("HTTP/1.1 200 OK\r\nContent-Length: \(many)\r\n\r\n", bytes: many) }
    #expect(reply == .response(status: 200))
    #expect(sent < many / 10, "\(sent) bytes were taken")
    let stays = try probe { _ in .stay("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n") }
    #expect(stays.reply == .response(status: 200))
    let limited = try probe(bodyLimit: 100) { _ in .flood("HTTP/1.1 200 OK\r\n\r\n", bytes: many) }
    #expect(limited.reply == .response(status: 200, body: Array(repeating: 0x78, count: 100)))
    #expect(limited.sent < many / 10)
  }

  @Test("endless headers end it")
  func headerBomb() throws {
    let reply = try probe { _ in .flood("HTTP/1.1 200 OK\r\nX: ", bytes: 50_000_000) }.reply
    guard case .unanswered = reply else { return #expect(Bool(false), "\(reply)") }
  }

  @Test("keeps the beginning of a body that is wanted, whatever follows; a compressed one is not unpacked")
  func body() throws {
    let (reply, requests, _, _) = try probe(bodyLimit: 1024, accept: "application/captive+json") { _ in
      .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
    }
    #expect(reply == .response(status: 200, body: Array("hello world".utf8)))
    #expect(requests.first?.contains("Accept: application/captive+json\r\n") == true)
    let packed = try probe(bodyLimit: 1024) { _ in .text("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc") }
    #expect(packed.reply == .response(status: 200, body: Array("abc".utf8)))
  }

  @Test("where it cannot be bound or marked it is not sent at all")
  func unsent() throws {
    for url in ["http://127.0.0.1:PORT/", "http://beacon.example:PORT/"] {
      let (reply, requests, _, questions) = try probe(url, change: { $0.link = "nosuchlink0" }) { _ in .text(fine) }
      guard case .unsent(let reason) = reply else { return #expect(Bool(false), "\(reply)") }
      #expect(reason.contains("bind to"))
      #expect(requests == [] && questions == [])
    }
    let (reply, _, _, questions) = try probe(change: { $0.nameServers = .unknown(reason: "nobody says") }) { _ in .text(fine) }
    #expect(reply == .unsent(reason: "the network's name servers are unknown: nobody says"))
    #expect(questions == [])
  }

  @Test("dropped at any point it calls nobody, and leaves no socket open")
  func dropped() throws {
    try inNamespaces {
      for delay in [0, 1, 5, 30] {
        let _: Bool = try onLoop { loop, done in
          let server = try TinyHTTPServer(on: loop) { _ in .stay("") }
          let bench = try ProbeBench(on: loop, names: [try #require(IPAddress("127.0.0.1"))])
          var run: ProbeRun? = bench.runner.run(ProbeRequest(url: "http://beacon.example:\(server.port)/"), by: bench.passage) { _ in
            Issue.record("called back")
          }
          let stop = try loop.at(.now + .milliseconds(delay)) { run = nil }
          return (server, bench, stop, run, try loop.at(.now + .milliseconds(delay + 30)) { done(true) })
        }
      }
    }
  }

  @Test("a hundred of them leave no descriptor and cost no spinning")
  func noLeak() throws {
    try inNamespaces {
      _ = try ProbeBench.reply(to: ProbeRequest(url: "http://beacon.example:PORT/", timeout: .seconds(20))) {
        try TinyHTTPServer(on: $0) { _ in .text(fine) }
      }
      let before = openDescriptors()
      for _ in 0..<100 {
        let seen = try ProbeBench.reply(to: ProbeRequest(url: "http://beacon.example:PORT/", timeout: .seconds(20))) {
          try TinyHTTPServer(on: $0) { _ in .text(fine) }
        }
        #expect(seen.reply == .response(status: 200))
      }
      // Spinning would cost all of the time that it waits.
      let processor = processorTime()
      let _: ProbeReply = try ProbeBench.reply(to: ProbeRequest(url: "http://beacon.example:PORT/", timeout: .seconds(4))) {
        try TinyHTTPServer(on: $0) { _ in .stay("") }
      }.reply
      #expect(processorTime() - processor < .seconds(2))
      // A child that another test is just starting may share some until it runs its program.
      let end = Moment.now + .seconds(10)
      while openDescriptors() > before + 2, Moment.now < end { usleep(10_000) }
      #expect(openDescriptors() <= before + 2)
    }
  }

  /// Sockets of this thread's network namespace: other tests open descriptors of their own.
  private func openDescriptors() -> Int {
    ["tcp", "udp", "tcp6", "udp6"].reduce(0) { sum, name in
      let bytes = (try? TextFile.read("/proc/thread-self/net/\(name)")) ?? []
      // Those that are over but still wait (TIME_WAIT, 06) are nobody's.
      return sum
        + String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst().count { line in
          line.split(separator: " ").dropFirst(3).first != "06"
        }
    }
  }

  private func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}
