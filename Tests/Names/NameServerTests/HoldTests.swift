import NetworkTypes
import Testing

@testable import NameServer

/// Questions that wait for a tunnel.
@Suite("Held questions") struct HoldTests {
  private static let corp = DomainName("corp.example")

  @Test("a question waits until its tunnel is connected, then goes to its servers, and nowhere else") func release() throws {
    let lab = Lab()
    lab.ask("git.corp.example", type: 28)
    #expect(lab.replies.isEmpty && lab.datagrams.isEmpty)
    #expect(lab.requests == [.start(trigger: 0, name: "git.corp.example", type: 28, client: Lab.client())])
    lab.pass(.seconds(4))
    #expect(lab.replies.isEmpty && lab.datagrams.isEmpty)
    lab.set(.starting)
    lab.set(.connected)
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.inside.address] && (64..<96).contains(lab.datagrams[0].datagram.socket))
    lab.answer([Messages.record(28, [UInt8](repeating: 1, count: 16), ttl: 3600)])
    let reading = try #require(lab.readings.first)
    #expect(reading.code == 0 && reading.id == 0x1234 && reading.answers.map(\.ttl) == [60] && reading.hasEDNS)
    #expect(lab.replies.count == 1 && lab.machine.held == 0 && lab.machine.open == 0 && lab.machine.nextDeadline == nil)
  }

  @Test("4.5 s after the first question each copy fails with an extended error; retries fail at once, later ones wait again")
  func expiry() throws {
    let lab = Lab()
    lab.ask("git.corp.example", id: 1)
    lab.pass(.milliseconds(2500))
    lab.ask("GIT.corp.example", id: 2)
    lab.pass(.milliseconds(1999))
    #expect(lab.replies.isEmpty)
    lab.pass(.milliseconds(1))
    #expect(lab.readings.map(\.id) == [1, 2] && lab.readings.allSatisfy { $0.code == 2 && $0.reason == 22 })
    #expect(lab.readings.map(\.text) == ["corp is not connected", "corp is not connected"])
    #expect(lab.readings[1].question == Messages.name("GIT.corp.example") + Messages.words(1, 1))
    lab.clear()
    lab.ask("git.corp.example", id: 3)
    #expect(lab.readings.map(\.code) == [2])
    // Another type has a time of its own.
    lab.ask("git.corp.example", type: 28, id: 4)
    #expect(lab.replies.count == 1)
    lab.pass(.seconds(2))
    lab.clear()
    lab.ask("git.corp.example", id: 5)
    #expect(lab.replies.isEmpty)
    lab.set(.connected)
    lab.answer(to: 0)
    lab.answer(to: 1)
    #expect(Set(lab.readings.map(\.id)) == [4, 5] && lab.readings.allSatisfy { $0.code == 0 })
    #expect(lab.counters.expired == 3)
  }

  @Test("a question without EDNS gets a plain failure") func plain() throws {
    let lab = Lab()
    lab.ask("git.corp.example", payload: nil)
    lab.pass(.seconds(5))
    let reading = try #require(lab.readings.first)
    #expect(reading.code == 2 && !reading.hasEDNS && reading.flags & 0x0180 == 0x0180)
  }

  @Test("after a failed start questions fail at once for 2, 4, 8, 16, 30 s, and then wait") func failures() {
    let lab = Lab()
    lab.ask("git.corp.example")
    for seconds in [2, 4, 8, 16, 30, 30] {
      lab.clear()
      lab.set(.failed)
      lab.set(.starting)
      lab.clear()
      lab.ask("git.corp.example")
      #expect(lab.readings.map(\.code) == [2])
      lab.pass(.seconds(seconds) - .milliseconds(1))
      lab.ask("git.corp.example")
      #expect(lab.readings.map(\.code) == [2, 2])
      lab.pass(.milliseconds(1))
      lab.ask("git.corp.example")
      #expect(lab.replies.count == 2, "\(seconds)")
    }
    lab.set(.connected)
    lab.clear()
    lab.set(.failed)
    #expect(lab.readings.map(\.code) == [2])
    lab.pass(.seconds(2))
    lab.clear()
    lab.ask("git.corp.example")
    #expect(lab.replies.isEmpty)
  }

  @Test("the agent is asked once for a start, and again for a later question") func requests() {
    let lab = Lab()
    for i in 0..<40 { lab.ask("h\(i).corp.example") }
    #expect(lab.requests.count == 1)
    lab.set(.starting)
    lab.pass(.seconds(3))
    lab.ask("late.corp.example")
    #expect(lab.requests.count == 1)
    lab.set(.down)
    lab.ask("later.corp.example")
    lab.ask("last.corp.example")
    #expect(lab.requests.count == 2)
  }

  @Test("at most 512 wait, 32 of one address, 256 of this host; the oldest fail first") func limits() {
    let lab = Lab()
    let guest = { (i: UInt32) in Lab.client(5, address: IPAddress(v4: 0x0a00_0000 + i), isLocal: false) }
    for i in 0..<40 { lab.ask("h\(i).corp.example", id: i, from: guest(1)) }
    #expect(lab.machine.held == 32 && lab.readings.map(\.id) == Array(0..<8) && lab.readings.allSatisfy { $0.code == 2 && $0.reason == 22 })
    for i in 0..<300 { lab.ask("h\(i).corp.example", id: 1000 + i) }
    #expect(lab.machine.held == 288 && lab.readings.count == 8 + 44 && lab.readings.last?.id == 1043)
    for i in 0..<300 { lab.ask("h\(i).corp.example", id: 2000 + i, from: guest(10 + UInt32(i))) }
    #expect(lab.machine.held == 512 && lab.replies.count == 640 - 512)
    #expect(lab.counters.evicted == 128)
    lab.pass(.seconds(10))
    #expect(lab.replies.count == 640 && lab.machine.held == 0 && lab.machine.nextDeadline == nil)
  }

  @Test("connect-if-needed: the first group's answer counts") func notNeeded() {
    let lab = Lab(corp: .connectIfNeeded(trigger: 0, first: 0))
    lab.ask("www.corp.example")
    // A random name is asked for too, once, and the answer waits for it.
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.underlay.address, Lab.underlay.address])
    lab.answer()
    #expect(lab.replies.isEmpty && lab.requests.isEmpty)
    lab.answer([], code: 3, to: 0)
    #expect(lab.readings.map(\.code) == [0] && lab.requests.isEmpty)
    lab.clear()
    // No address of this type is an answer too.
    lab.ask("www.corp.example", type: 28)
    #expect(lab.datagrams.count == 1)
    lab.answer([])
    #expect(lab.readings.map(\.code) == [0] && lab.requests.isEmpty)
  }

  @Test("connect-if-needed: an address that names which do not exist have too resolves nothing, on that network") func redirected() {
    let lab = Lab(corp: .connectIfNeeded(trigger: 0, first: 0))
    lab.ask("www.corp.example")
    let name = Messages.name(of: lab.datagrams[0].message)
    let labels = name.utf8.split(separator: UInt8(ascii: "."))
    #expect(labels.count == 3 && name.hasSuffix(".com") && labels.dropLast().allSatisfy { (8...27).contains($0.count) }, "\(name)")
    lab.answer([Messages.a("198.51.100.80"), Messages.a("198.51.100.81")])
    lab.answer([Messages.a("198.51.100.81")], to: 0)
    #expect(lab.replies.isEmpty && lab.requests.count == 1 && lab.machine.held == 1)
    lab.set(.failed)
    lab.set(.down)
    lab.pass(.seconds(60))
    // Another address is an answer; for names of others both are.
    for (asked, address) in [("git.corp.example", "198.51.100.7"), ("www.other.example", "198.51.100.81")] {
      lab.clear()
      lab.ask(asked)
      #expect(lab.datagrams.count == 1)
      lab.answer([Messages.a(address)])
      #expect(lab.readings.map(\.addresses) == [[address]] && lab.requests.isEmpty)
    }
    // Another network is asked again.
    lab.clear()
    var configuration = Lab.configuration(corp: .connectIfNeeded(trigger: 0, first: 0))
    configuration.network = 2
    lab.configure(configuration)
    lab.ask("wiki.corp.example")
    #expect(lab.datagrams.count == 2)
  }

  @Test("connect-if-needed: servers that say nothing to a random name delay an answer by two seconds at most, and once") func uncheckable()
  {
    let lab = Lab(corp: .connectIfNeeded(trigger: 0, first: 0))
    lab.ask("www.corp.example")
    lab.answer()
    lab.pass(.milliseconds(1999))
    #expect(lab.replies.isEmpty)
    lab.pass(.milliseconds(1))
    #expect(lab.readings.map(\.code) == [0] && lab.requests.isEmpty)
    lab.clear()
    lab.ask("git.corp.example")
    lab.answer()
    #expect(lab.readings.map(\.code) == [0])
  }

  @Test("connect-if-needed: new sockets while a random name is asked for: everything is asked again, and answered once") func recheck() {
    let lab = Lab(corp: .connectIfNeeded(trigger: 0, first: 0))
    lab.ask("www.corp.example")
    lab.answer()
    lab.clear()
    lab.setPool(0, SocketPool(v4: Array(200..<232)))
    #expect(lab.datagrams.count == 2 && lab.replies.isEmpty)
    lab.answer()
    lab.answer([], code: 3, to: 0)
    #expect(lab.readings.map(\.code) == [0])
    lab.pass(.seconds(10))
    #expect(lab.replies.count == 1)
  }

  @Test("connect-if-needed: a name that does not exist, fails, is not answered for or leads inside starts the tunnel", arguments: 0..<5)
  func needed(kind: Int) {
    let lab = Lab(corp: .connectIfNeeded(trigger: 0, first: 0), blocked: true)
    lab.ask("www.corp.example")
    if kind != 4 { lab.answer([], code: 3, to: 0) }
    switch kind {
    case 0: lab.answer([], code: 3)
    case 1: lab.answer([], code: 2)
    case 2: lab.answer([], code: 5)
    case 3: lab.answer([Messages.a("10.77.0.8")])
    default: lab.pass(.seconds(2))
    }
    #expect(lab.replies.isEmpty && lab.requests.count == 1 && lab.machine.held == 1)
    lab.clear()
    lab.set(.connected)
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.inside.address])
    lab.answer([Messages.a("10.77.0.8", ttl: 30)])
    #expect(lab.readings.map(\.addresses) == [["10.77.0.8"]])
    // Connected: its servers are asked at once.
    lab.clear()
    lab.ask("other.corp.example")
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.inside.address])
  }

  @Test("connect-if-needed: the time counts from the first question, whoever was asked") func neededInTime() {
    let lab = Lab(corp: .connectIfNeeded(trigger: 0, first: 0))
    lab.ask("www.corp.example")
    lab.pass(.milliseconds(4499))
    #expect(lab.replies.isEmpty)
    lab.pass(.milliseconds(1))
    #expect(lab.readings.map(\.code) == [2])
  }

  @Test("a name of a tunnel that refuses fails at once; names below a domain of another rule pass") func refused() {
    let lab = Lab()
    lab.ask("a.refused.example")
    #expect(lab.readings.map(\.reason) == [22] && lab.datagrams.isEmpty)
    lab.ask("x.public.corp.example")
    #expect(lab.datagrams.map(\.datagram.address) == [Lab.underlay.address])
  }

  @Test("a tunnel that goes down takes back what its servers were asked") func down() {
    let lab = Lab()
    lab.set(.connected)
    lab.ask("git.corp.example")
    let first = lab.datagrams[0]
    lab.set(.down)
    #expect(lab.machine.held == 1 && lab.requests.count == 1)
    lab.deliver(Messages.answer(to: first.message, [Messages.a("10.77.0.9")]), to: first.datagram)
    #expect(lab.replies.isEmpty && lab.counters.strayAnswers == 1)
    lab.set(.connected)
    lab.answer([Messages.a("10.77.0.9")])
    #expect(lab.readings.map(\.code) == [0])
    // The answer from the connected time is forgotten.
    lab.set(.down)
    lab.clear()
    lab.ask("git.corp.example")
    #expect(lab.replies.isEmpty && lab.datagrams.isEmpty)
  }
}
