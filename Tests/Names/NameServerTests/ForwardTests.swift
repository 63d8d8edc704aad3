import NetworkTypes
import SeededRandom
import Testing

@testable import NameServer

private struct Missing: Error {}

/// Questions to name servers, and their answers (RFC 1034, 1035, 5452, 6891, 7766).
@Suite("Forwarded questions") struct ForwardTests {
  @Test("an answer goes back with the client's ID, letter case and EDNS") func forward() throws {
    let lab = Lab()
    lab.ask(Messages.question("WWW.example.ORG", id: 77, flags: 0x0110, payload: 4096, wantsSignatures: true))
    let asked = try #require(lab.datagrams.first)
    #expect(asked.datagram.address == Lab.underlay.address && asked.datagram.port == 53 && asked.datagram.socket < 32)
    let sent = try QuestionOutline(asked.message.span)
    #expect(sent.flags == 0x0110 && sent.edns?.payload == 1232 && sent.edns?.wantsSignatures == true)
    var answer = Messages.answer(to: asked.message, [Messages.a("198.51.100.7", ttl: 3600)])
    // A server may change the case.
    for i in 13..<16 { answer[i] |= 0x20 }
    lab.deliver(answer, to: asked.datagram)
    let reading = try #require(lab.readings.first)
    #expect(reading.id == 77 && reading.question == Messages.name("WWW.example.ORG") + Messages.words(1, 1))
    #expect(reading.addresses == ["198.51.100.7"] && reading.answers.first?.ttl == 3600 && reading.hasEDNS && reading.payload == 1232)
  }

  @Test("EDNS is echoed where the server left it out, and not where the client had none") func echo() throws {
    let lab = Lab()
    lab.ask("a.example")
    let asked = try #require(lab.datagrams.first)
    lab.deliver(Messages.answer(to: asked.message, [Messages.a("192.0.2.77")], echoesEDNS: false), to: asked.datagram)
    lab.ask("b.example", payload: nil)
    lab.answer()
    #expect(lab.readings.map(\.hasEDNS) == [true, false])
    lab.ask(
      Messages.question("c.example", payload: 1232)[..<11] + [1] + Messages.question("c.example").dropFirst(12)
        + Messages.opt(ttl: 0x0001_0000))
    #expect(lab.readings.last?.code == 16, "version 1 of EDNS")
  }

  @Test("a server before EDNS is asked without") func plainServer() throws {
    let lab = Lab()
    lab.ask("a.example")
    let first = try #require(lab.datagrams.first)
    lab.deliver(Messages.answer(to: first.message, code: 1, echoesEDNS: false), to: first.datagram)
    #expect(lab.datagrams.count == 2 && lab.datagrams[1].message[11] == 0)
    lab.answer()
    #expect(lab.readings.map(\.code) == [0] && lab.readings.map(\.hasEDNS) == [true])
  }

  @Test("without an answer the next server is asked after 1, 2 and 3 s; late answers of each count; then it fails") func retries() {
    let lab = Lab(servers: [Lab.underlay, Lab.second])
    lab.ask("a.example")
    lab.pass(.milliseconds(999))
    #expect(lab.datagrams.count == 1)
    lab.pass(.milliseconds(1))
    lab.pass(.seconds(3))
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.underlay, Lab.second, Lab.underlay, Lab.second].map(\.address))
    #expect(Set(lab.datagrams.map { Array($0.message[..<2]) }).count > 1)
    lab.answer(to: 0)
    #expect(lab.readings.map(\.code) == [0])
    lab.clear()
    lab.ask("b.example")
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.underlay.address], "the one that answered last")
    lab.pass(.seconds(1))
    lab.ask("c.example")
    #expect(lab.datagrams.last?.datagram.address == Lab.second.address, "the first one did not answer in time")
    lab.pass(.milliseconds(4800))
    #expect(lab.readings.map(\.code) == [2, 2] && lab.readings.allSatisfy { $0.reason == 22 } && lab.machine.nextDeadline == nil)
  }

  @Test("a failure is asked of the next server at once; the last one's failure is the answer, but no refusal") func failures() {
    let lab = Lab(servers: [Lab.underlay, Lab.second])
    lab.ask("a.example")
    lab.answer([], code: 2)
    #expect(lab.datagrams.count == 2 && lab.replies.isEmpty)
    lab.answer([], code: 5)
    #expect(lab.readings.map(\.code) == [2])
    lab.clear()
    lab.ask("b.example")
    lab.answer([], code: 5)
    lab.answer()
    #expect(lab.readings.map(\.code) == [0])
    lab.ask("c.example")
    lab.answer([], code: 3)
    #expect(lab.readings.map(\.code) == [0, 3])
  }

  @Test("no server's word that an answer is validated is passed on, from the cache neither") func validated() {
    let lab = Lab()
    lab.ask("a.example")
    let asked = lab.datagrams[0]
    var message = Messages.answer(to: asked.message, [Messages.a("198.51.100.7")])
    message[3] |= 0x20
    lab.deliver(message, to: asked.datagram)
    lab.ask("a.example", id: 7)
    #expect(lab.readings.map(\.code) == [0, 0] && lab.datagrams.count == 1)
    #expect(lab.readings.allSatisfy { $0.flags & 0x20 == 0 })
  }

  @Test("what the kernel does not send fails over at once, and then with a network error") func undelivered() {
    let lab = Lab(servers: [Lab.underlay, Lab.second])
    lab.ask("a.example")
    lab.undelivered(lab.datagrams[0].datagram)
    lab.pass(.zero)
    #expect(lab.datagrams.count == 2)
    lab.undelivered(lab.datagrams[1].datagram)
    lab.pass(.zero)
    #expect(lab.readings.map(\.reason) == [23])
    lab.setPool(0, SocketPool())
    lab.ask("b.example")
    #expect(lab.readings.map(\.reason) == [23, 23])
  }

  @Test("an answer counts only from the server, the port, the socket, with the ID and to the question that was asked") func spoofed() throws
  {
    let lab = Lab()
    lab.ask("bank.example")
    let asked = try #require(lab.datagrams.first)
    let right = Messages.answer(to: asked.message, [Messages.a("198.51.100.66")])
    let server = Upstream(asked.datagram.address)
    func changed(_ offset: Int) -> [UInt8] {
      var message = right
      message[offset] ^= 1
      return message
    }
    lab.receive(right, at: asked.datagram.socket, from: Lab.second)
    lab.receive(right, at: asked.datagram.socket, from: Upstream(server.address, port: 54))
    lab.receive(right, at: asked.datagram.socket ^ 1, from: server)
    lab.receive(changed(1), at: asked.datagram.socket, from: server)
    let end = Messages.questionEnd(right)
    for offset in [13, end - 1, end - 3] { lab.receive(changed(offset), at: asked.datagram.socket, from: server) }
    #expect(lab.replies.isEmpty && lab.counters.strayAnswers == 7)
    lab.receive(Array(right[..<10]), at: asked.datagram.socket, from: server)
    lab.receive(asked.message, at: asked.datagram.socket, from: server)
    lab.receive(right.dropLast(), at: asked.datagram.socket, from: server)
    #expect(lab.replies.isEmpty && lab.counters.malformedAnswers == 3)
    lab.receive(right, at: asked.datagram.socket, from: server)
    lab.receive(right, at: asked.datagram.socket, from: server)
    #expect(lab.readings.map(\.addresses) == [["198.51.100.66"]] && lab.counters.strayAnswers == 8)
  }

  @Test("of 10,000 answers of an attacker who guesses the ID and the port, none counts; IDs and ports are spread") func spoofing() throws {
    let lab = Lab(seed: 7)
    var random = SplitMix64(seed: 20_261_123)
    for round in 0..<100 {
      lab.clear()
      lab.ask("bank\(round).example")
      let asked = try #require(lab.datagrams.first)
      for _ in 0..<100 {
        var forged = Messages.answer(to: asked.message, [Messages.a("203.0.113.66")])
        let id = random.next()
        (forged[0], forged[1]) = (UInt8(truncatingIfNeeded: id), UInt8(truncatingIfNeeded: id >> 8))
        lab.receive(forged, at: UInt16(random.next() % 32), from: Lab.underlay)
      }
      #expect(lab.replies.isEmpty)
      lab.answer()
      #expect(lab.readings.map(\.addresses) == [["198.51.100.7"]])
    }
    #expect(lab.counters.strayAnswers == 10_000)
    var sockets = Set<UInt16>(), ids = Set<[UInt8]>()
    lab.clear()
    for i in 0..<1000 {
      lab.now = lab.now + .nanoseconds(1)
      lab.ask("x\(i).example")
    }
    for one in lab.datagrams {
      sockets.insert(one.datagram.socket)
      ids.insert(Array(one.message[..<2]))
    }
    #expect(sockets.count == 32 && ids.count > 980)
  }

  @Test("questions of one moment share a random socket eight in a row; another moment or other sockets begin a new row") func rows() {
    let lab = Lab()
    var sockets: [UInt16] { lab.datagrams.map(\.datagram.socket) }
    for i in 0..<800 { lab.ask("x\(i).example") }
    let rows = stride(from: 0, to: 800, by: 8).map { Set(sockets[$0..<$0 + 8]) }
    #expect(rows.allSatisfy { $0.count == 1 } && Set(rows).count > 20)
    lab.clear()
    // Three to each moment: none goes on with the row of the one before, except by chance.
    for i in 0..<300 {
      if i % 3 == 0 { lab.now = lab.now + .nanoseconds(1) }
      lab.ask("y\(i).example")
    }
    let moments = stride(from: 0, to: 300, by: 3).map { Set(sockets[$0..<$0 + 3]) }
    #expect(moments.allSatisfy { $0.count == 1 } && Set(moments).count > 20)
    lab.clear()
    lab.ask("z.example")
    let server = Upstream(IPAddress(v4: 0xc000_0209))
    lab.configure(Lab.configuration(corp: .connectAlways(trigger: 0), servers: [server]))
    lab.setPool(0, SocketPool(v4: [200]))
    lab.clear()
    lab.ask("w.example")
    #expect(sockets == [200])
  }

  @Test("identical questions that are open are asked once, and each client gets its answer") func coalescing() {
    let lab = Lab()
    lab.ask("a.example", id: 1, from: Lab.client(1))
    lab.ask("A.example", id: 2, from: Lab.client(2))
    lab.ask("a.example", id: 2, from: Lab.client(2))
    #expect(lab.datagrams.count == 1 && lab.counters.joined == 2)
    lab.ask(Messages.question("a.example", payload: 1232, wantsSignatures: true), from: Lab.client(4))
    lab.ask(Messages.question("a.example", payload: nil), from: Lab.client(5))
    lab.ask("a.example", type: 28)
    #expect(lab.datagrams.count == 4)
    lab.answer(to: 0)
    #expect(lab.readings.map(\.id) == [1, 2, 2] && lab.replies.map(\.client.port) == [1, 2, 2])
    #expect(lab.readings[1].question == Messages.name("A.example") + Messages.words(1, 1))
    lab.clear()
    for i in 0..<70 { lab.ask("many.example", id: i) }
    #expect(lab.datagrams.count == 1 && lab.readings.count == 6 && lab.counters.overflowed == 6)
  }

  @Test("a program that asks for names whose servers are silent, at any rate up to 8,000 a second, takes no places from others")
  func silentServers() {
    for rate in [500, 2000, 8000] {
      let lab = Lab()
      var (asked, answered) = (0, 0)
      for i in 0..<rate * 3 {
        lab.ask("x\(i).silent.example", id: i & 0xffff, from: Lab.client(20_000))
        lab.pass(.nanoseconds(1_000_000_000 / rate))
        // Another program asks twice a second; its server answers after 20 ms.
        guard i % (rate / 2) == rate / 4 else { continue }
        lab.clear()
        asked += 1
        lab.ask("y\(i).example", id: 7, from: Lab.client(30_000))
        guard let question = lab.datagrams.last(where: { $0.message.contains(UInt8(ascii: "y")) }) else { continue }
        lab.now = lab.now + .milliseconds(20)
        lab.deliver(Messages.answer(to: question.message, [Messages.a("198.51.100.7")]), to: question.datagram)
        answered += lab.replies.contains { $0.client.port == 30_000 && $0.message[3] & 15 == 0 } ? 1 : 0
      }
      #expect(answered == asked && asked == 6, "\(rate) a second: \(answered) of \(asked)")
      #expect(lab.machine.open <= 2048)
    }
  }

  @Test(
    "who asks for names of one domain, or by one socket, takes no places from others at any rate, even where an answer takes a second",
    arguments: [true, false])
  func shares(isOneDomain: Bool) {
    for rate in [2000, 40_000] {
      let lab = Lab()
      var (asked, answered) = (0, 0)
      var waiting: [(due: Moment, datagram: Outbox.Datagram, question: [UInt8])] = []
      for i in 0..<rate * 4 {
        let name = isOneDomain ? "x\(i).silent.example" : "x\(i).silent\(i).example\(i % 977)"
        lab.ask(name, id: i & 0xffff, from: Lab.client(isOneDomain ? UInt16(20_000 + i % 9973) : 20_000))
        lab.pass(.nanoseconds(1_000_000_000 / rate))
        if let first = waiting.first, first.due <= lab.now {
          waiting.removeFirst()
          lab.clear()
          lab.deliver(Messages.answer(to: first.question, [Messages.a("198.51.100.7")]), to: first.datagram)
          answered += lab.replies.contains { $0.client.port == 30_000 && $0.message[3] & 15 == 0 } ? 1 : 0
        }
        if i % 512 == 0 { lab.clear() }
        guard i % (rate / 2) == rate / 4, i < rate * 3 else { continue }
        asked += 1
        lab.clear()
        lab.ask("y\(i).other\(i).example", id: 7, from: Lab.client(30_000))
        guard let question = lab.datagrams.last(where: { $0.message.contains(UInt8(ascii: "y")) }) else { continue }
        waiting.append((lab.now + .milliseconds(900), question.datagram, question.message))
      }
      #expect(answered == asked && asked == 6, "\(rate) a second: \(answered) of \(asked)")
    }
  }

  @Test("a truncated answer is asked for over TCP, and truncated for clients that take no more") func truncation() throws {
    let lab = Lab()
    lab.ask("big.example", id: 1)
    lab.ask("big.example", id: 2, payload: 4096)
    let asked = try #require(lab.datagrams.first)
    lab.deliver(Messages.answer(to: asked.message, isTruncated: true), to: asked.datagram)
    guard case .openStream(let number, 0, Lab.underlay.address, 53, let message)? = lab.requests.first else {
      throw Missing()
    }
    lab.pass(.seconds(2))
    #expect(lab.datagrams.count == 1 && lab.replies.isEmpty)
    lab.receive(Messages.answer(to: message, (0..<100).map { Messages.a("192.0.2.\($0)") }), onStream: number)
    #expect(lab.readings.map(\.isTruncated) == [true, false] && lab.readings.map(\.answers.count) == [0, 100])
    #expect(lab.readings.allSatisfy { $0.hasEDNS })
    // The client asks over TCP itself: from the cache.
    var client = Lab.client()
    client.transport = .stream(3)
    lab.ask("big.example", id: 3, from: client)
    #expect(lab.readings.last?.answers.count == 100 && lab.replies.last?.client.transport == .stream(3))
  }

  @Test("without a connection the client gets the truncated answer; one that is not wanted is closed") func noStream() throws {
    let lab = Lab()
    for name in ["a.example", "b.example"] {
      lab.clear()
      lab.ask(name)
      let asked = try #require(lab.datagrams.first)
      lab.deliver(Messages.answer(to: asked.message, isTruncated: true), to: asked.datagram)
      guard case .openStream(let number, _, _, _, _)? = lab.requests.first else { throw Missing() }
      if name == "a.example" {
        lab.streamFailed(number)
      } else {
        lab.receive(Messages.answer(to: asked.message, isTruncated: true), onStream: number)
      }
      #expect(lab.readings.map(\.isTruncated) == [true])
    }
    lab.ask("c.example")
    let asked = try #require(lab.datagrams.last)
    lab.clear()
    lab.deliver(Messages.answer(to: asked.message, isTruncated: true), to: asked.datagram)
    lab.pass(.seconds(5))
    #expect(lab.requests.count == 2 && lab.readings.map(\.isTruncated) == [true])
    guard case .closeStream = lab.requests[1] else { throw Missing() }
  }

  @Test("an answer over TCP may have 64 KiB") func large() throws {
    let lab = Lab()
    var client = Lab.client()
    client.transport = .stream(1)
    lab.ask("huge.example", from: client)
    let asked = try #require(lab.datagrams.first)
    lab.deliver(Messages.answer(to: asked.message, isTruncated: true), to: asked.datagram)
    guard case .openStream(let number, _, _, _, let message)? = lab.requests.first else { throw Missing() }
    let head = Messages.answer(to: message).count
    let answer = Messages.answer(to: message, [Messages.record(16, [UInt8](repeating: 7, count: 65_535 - head - 12))])
    #expect(answer.count == 65_535)
    lab.receive(answer, onStream: number)
    #expect(lab.replies.map(\.message.count) == [65_535] && lab.readings.count == 1)
  }

  @Test("answers of servers outside with addresses of a tunnel are withheld") func rebinding() {
    let lab = Lab(blocked: true)
    lab.ask("evil.example")
    lab.answer([Messages.a("198.51.100.1"), Messages.a("10.77.0.1")])
    #expect(lab.readings.map(\.code) == [2] && lab.readings.map(\.reason) == [15] && lab.counters.blocked == 1)
    lab.set(.connected)
    lab.clear()
    lab.ask("git.corp.example")
    lab.answer([Messages.a("10.77.0.1")])
    #expect(lab.readings.map(\.addresses) == [["10.77.0.1"]])
  }

  @Test("a withheld answer is told with its name and address, and is passed on for names in an allowed domain") func rebindAllowed() {
    let lab = Lab(blocked: true)
    lab.ask("nas.home.example")
    lab.answer([Messages.a("198.51.100.1"), Messages.a("10.77.0.9"), Messages.a("10.77.0.1")])
    #expect(lab.requests == [.withheld(name: "nas.home.example", address: IPAddress("10.77.0.9")!)])
    var allowing = Lab.configuration(corp: .connectAlways(trigger: 0), blocked: true)
    allowing.rebindAllowed.add(DomainName("home.example")!, 0)
    #expect(lab.configure(allowing) == nil)
    lab.clear()
    for name in ["NAS.Home.example", "home.example", "nothome.example"] {
      lab.ask(name)
      lab.answer([Messages.a("10.77.0.9")])
    }
    #expect(lab.readings.map(\.addresses) == [["10.77.0.9"], ["10.77.0.9"], []] && lab.readings.last?.reason == 15)
    #expect(lab.requests == [.withheld(name: "nothome.example", address: IPAddress("10.77.0.9")!)])
    // An answer that was allowed is not kept for afterwards.
    lab.configure(Lab.configuration(corp: .connectAlways(trigger: 0), blocked: true))
    lab.clear()
    lab.ask("home.example")
    lab.answer([Messages.a("10.77.0.9")])
    #expect(lab.readings.map(\.reason) == [15])
  }

  @Test("an allowed domain does not keep names that start a tunnel from starting it") func rebindAllowedAtStart() {
    let lab = Lab(blocked: true)
    var configuration = Lab.configuration(corp: .connectIfNeeded(trigger: 0, first: 0), blocked: true)
    configuration.rebindAllowed.add(DomainName("corp.example")!, 0)
    lab.configure(configuration)
    lab.ask("git.corp.example")
    // The first question of a group is whether its servers answer names that do not exist.
    lab.answer([], code: 3, to: 0)
    lab.answer([Messages.a("10.77.0.1")])
    #expect(lab.readings.isEmpty)
    #expect(lab.requests.contains { if case .start = $0 { true } else { false } })
  }

  @Test("the canary domain does not exist, and nothing below another name is taken for it") func canary() {
    let lab = Lab()
    lab.ask("Use-Application-DNS.net")
    #expect(lab.readings.map(\.code) == [3] && lab.datagrams.isEmpty)
    lab.ask("xuse-application-dns.net")
    lab.ask("a.use-application-dns.net")
    #expect(lab.datagrams.count == 2)
    var configuration = Lab.configuration(corp: .connectAlways(trigger: 0))
    configuration.answersCanary = false
    lab.configure(configuration)
    lab.ask("use-application-dns.net", payload: nil)
    #expect(lab.readings.count == 1)
  }

  @Test("a name with a search domain behind it is not asked outside if the name itself belongs to a tunnel") func searched() {
    let lab = Lab()
    var configuration = Lab.configuration(corp: .connectAlways(trigger: 0))
    configuration.searchDomains = ["cafe.example", "corp.example"].compactMap { DomainName($0) }
    lab.configure(configuration)
    // Without its tunnel it fails, as the name before: a program may try again.
    lab.ask("git.corp.example.Cafe.Example")
    lab.ask("git.refused.example.cafe.example")
    lab.ask("git.refused.example.corp.example")
    #expect(lab.readings.map(\.code) == [2, 2, 2] && lab.datagrams.isEmpty && lab.requests.isEmpty)
    // Other names are resolved as before.
    for name in [
      "printer.cafe.example", "cafe.example", "example.cafe.example", "www.example.cafe.example", "a.public.corp.example.cafe.example",
    ] {
      lab.ask(name)
    }
    #expect(lab.datagrams.count == 5)
    lab.clear()
    lab.set(.connected)
    lab.ask("typo.corp.example.cafe.example", type: 28)
    #expect(lab.readings.map(\.code) == [3] && lab.datagrams.isEmpty)
    lab.ask("git.corp.example.corp.example")
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.inside.address])
  }

  @Test("a domain of one label may be a label of the network's names") func searchedLabel() {
    let lab = Lab()
    var configuration = Lab.configuration(corp: .connectAlways(trigger: 0))
    configuration.searchDomains = [DomainName("lab.example")].compactMap { $0 }
    for name in ["dev", "git.dev"].compactMap({ DomainName($0) }) { configuration.domains.add(name, 0) }
    lab.configure(configuration)
    lab.ask("www.dev.lab.example")
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.underlay.address])
    lab.ask("www.dev")
    #expect(lab.requests.count == 1)
  }

  @Test("a question that is open when the search domain becomes known goes no further") func searchedLater() {
    let lab = Lab()
    lab.ask("git.corp.example.cafe.example")
    #expect(lab.datagrams.count == 1)
    var configuration = Lab.configuration(corp: .connectAlways(trigger: 0))
    configuration.searchDomains = [DomainName("cafe.example")].compactMap { $0 }
    lab.configure(configuration)
    #expect(lab.readings.map(\.code) == [2] && lab.datagrams.count == 1)
  }

  @Test("zone transfers are not implemented; other types of records pass") func types() {
    let lab = Lab()
    lab.ask("a.example", type: 252)
    lab.ask("a.example", type: 251)
    #expect(lab.readings.map(\.code) == [4, 4])
    for type in [2, 6, 12, 15, 16, 33, 64, 65, 255, 65_280] { lab.ask("a.example", type: type) }
    #expect(lab.datagrams.count == 10)
  }

  @Test("a configuration that refers to what is missing is refused, and the former stays") func faults() throws {
    let lab = Lab()
    var configuration = Lab.configuration(corp: .connectAlways(trigger: 1))
    #expect(lab.configure(configuration) == "there is no trigger 1")
    configuration.dispositions = [.forward(group: 2)]
    #expect(configuration.fault == "there is no group 2")
    configuration.dispositions = []
    configuration.rest = .connectIfNeeded(trigger: 0, first: 9)
    #expect(configuration.fault == "there is no group 9")
    configuration.triggers[0].group = -1
    #expect(configuration.fault == "trigger corp: there is no group -1")
    lab.ask("a.example")
    #expect(lab.datagrams.count == 1)
  }

  @Test("a new configuration treats open questions anew") func reconfigured() {
    let lab = Lab()
    lab.ask("git.corp.example", id: 1)
    lab.ask("www.example", id: 2)
    let former = lab.datagrams[0]
    var configuration = Lab.configuration(corp: .forward(group: 0), servers: [Lab.second])
    configuration.network = 2
    lab.clear()
    lab.configure(configuration)
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.second.address, Lab.second.address])
    lab.deliver(Messages.answer(to: former.message, [Messages.a("192.0.2.1")]), to: former.datagram)
    #expect(lab.replies.isEmpty)
    lab.answer(to: 0)
    lab.answer(to: 1)
    #expect(Set(lab.readings.map(\.id)) == [1, 2] && lab.replies.count == 2)
  }
}
