import Glibc
import NetworkTypes
import SeededRandom
import Testing

@testable import NameServer

/// `NAMES_LIVES=300` asks for so many.
private let lives = getenv("NAMES_LIVES").flatMap { Int(String(cString: $0)) } ?? 40

/// Random lives in virtual time: clients, name servers that answer, fail, lie or are silent, tunnels that come and go, networks that
/// change.
@Suite("Lives of the name server") struct LifeTests {
  private struct Asked {
    let arrival: Moment
    let name: String
    var responses = 0
  }

  private static let names = [
    "a.example", "b.example", "git.corp.example", "www.corp.example", "x.public.corp.example", "y.refused.example",
  ]

  @Test("each question gets one response within 5 s, and no name of a tunnel goes outside", arguments: 0..<lives)
  func life(number: Int) {
    let seed = UInt64(number) &+ 0x6e61_6d65
    var random = SplitMix64(seed: seed)
    let isNeeded = random.chance(0.3)
    let corp: Disposition = isNeeded ? .connectIfNeeded(trigger: 0, first: 0) : .connectAlways(trigger: 0)
    let lab = Lab(corp: corp, servers: [Lab.underlay, Lab.second], blocked: random.chance(0.5), seed: seed)
    var asked: [Int: Asked] = [:]
    var next = 0
    var outside = 0
    func check() {
      for (client, message, at) in lab.replies {
        guard let reading = Reading(message) else {
          Issue.record("seed \(seed): a response that cannot be read: \(message)")
          return
        }
        let key = Int(client.port) << 16 | reading.id
        guard var one = asked[key] else {
          Issue.record("seed \(seed): a response without a question")
          return
        }
        one.responses += 1
        asked[key] = one
        #expect(at - one.arrival <= .seconds(5) && one.responses == 1, "seed \(seed): \(one)")
        #expect(reading.code != 5, "seed \(seed): refused")
      }
      for (datagram, message) in lab.datagrams {
        guard let outline = try? QuestionOutline(message.span) else {
          Issue.record("seed \(seed): no question")
          return
        }
        let name = Question(message.span, outline, from: Lab.client(), at: lab.now).nameText.lowercased()
        let isOurs = name.hasSuffix("corp.example") && !name.hasSuffix("public.corp.example")
        if isOurs, !isNeeded, datagram.address != Lab.inside.address { outside += 1 }
        if name.hasSuffix("refused.example") { outside += 1 }
      }
    }
    var unanswered: [(datagram: Outbox.Datagram, message: [UInt8])] = []
    var streams: [(UInt32, [UInt8])] = []
    for _ in 0..<400 {
      lab.clear()
      switch random.next() % 20 {
      case 0..<9:
        let name = (random.chance(0.2) ? "h\(random.next() % 50)." : "") + random.pick(Self.names)
        asked[((next % 60_000) << 16) | (next & 0xffff)] = Asked(arrival: lab.now, name: name)
        lab.ask(
          random.chance(0.2) ? name.uppercased() : name, type: random.pick([1, 28, 65]), id: next & 0xffff,
          payload: random.chance(0.7) ? 1232 : nil, from: Lab.client(UInt16(next % 60_000), isLocal: random.chance(0.8)))
        next += 1
      case 9..<14:
        guard !unanswered.isEmpty else { break }
        let (datagram, message) = unanswered.remove(at: Int(random.next() % UInt64(unanswered.count)))
        let records = [Messages.a(random.chance(0.2) ? "10.77.1.1" : "198.51.100.7", ttl: Int(random.next() % 90))]
        let code = random.chance(0.6) ? 0 : random.pick([1, 2, 3, 5])
        let answer = Messages.answer(
          to: message, code == 0 ? records : [], code: code, isTruncated: random.chance(0.05), echoesEDNS: random.chance(0.8))
        lab.deliver(answer, to: datagram)
      case 14:
        guard let (number, message) = streams.popLast() else { break }
        if random.chance(0.5) {
          lab.streamFailed(number)
        } else {
          lab.receive(Messages.answer(to: message, [Messages.a("192.0.2.4")]), onStream: number)
        }
      case 15: lab.set(random.pick([.down, .starting, .connected, .connected, .failed]))
      case 16: if let last = unanswered.popLast() { lab.undelivered(last.datagram) }
      case 17:
        guard random.chance(0.2) else { break }
        var configuration = Lab.configuration(corp: corp, servers: random.chance(0.5) ? [Lab.underlay] : [Lab.second, Lab.underlay])
        configuration.network = random.next() % 3
        lab.configure(configuration)
        let first = UInt16(random.next() % 8)
        lab.setPool(0, SocketPool(v4: Array(first * 32..<first * 32 + 32)))
      default: lab.pass(.milliseconds(Int(random.next() % 900)))
      }
      check()
      unanswered += lab.datagrams
      for case .openStream(let number, _, _, _, let message) in lab.requests { streams.append((number, message)) }
      #expect(lab.machine.held <= 512 && lab.machine.open <= 4096)
    }
    lab.clear()
    lab.pass(.seconds(10))
    check()
    #expect(asked.values.allSatisfy { $0.responses == 1 }, "seed \(seed): \(asked.values.filter { $0.responses != 1 })")
    #expect(outside == 0, "seed \(seed): names went where they must not")
    #expect(lab.machine.held == 0 && lab.machine.open == 0 && lab.machine.nextDeadline == nil, "seed \(seed)")
  }

  @Test("a flood of names that do not exist, and of names of a tunnel, takes bounded memory and leaves nothing") func flood() {
    let lab = Lab()
    for i in 0..<20_000 {
      lab.ask("x\(i).example", id: i & 0xffff)
      if i % 2 == 0 { lab.answer([], code: 3) }
      lab.ask("x\(i).corp.example", id: i & 0xffff)
      #expect(lab.machine.held <= 256 && lab.machine.open <= 2048)
      if i % 64 == 0 { lab.pass(.milliseconds(1)) }
      if lab.datagrams.count > 1000 { lab.datagrams.removeFirst(900) }
    }
    #expect(lab.machine.memory.cache < 1 << 16)
    #expect(lab.counters.overflowed > 0 && lab.counters.evicted > 0)
    lab.pass(.seconds(10))
    #expect(lab.replies.count == 40_000)
    #expect(lab.machine.held == 0 && lab.machine.open == 0 && lab.machine.nextDeadline == nil)
  }
}
