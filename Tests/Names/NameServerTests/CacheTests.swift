import NetworkTypes
import SeededRandom
import Testing

@testable import NameServer

@Suite("Cached answers") struct CacheTests {
  @Test("an answer is given again until its time ends, with the rest of its time") func age() {
    let lab = Lab()
    lab.ask("a.example", id: 1)
    lab.answer([Messages.a("198.51.100.7", ttl: 100), Messages.a("198.51.100.8", ttl: 50)])
    lab.pass(.milliseconds(20_900))
    lab.ask("A.Example", id: 2)
    #expect(lab.readings.last?.answers.map(\.ttl) == [80, 30] && lab.readings.last?.id == 2 && lab.datagrams.count == 1)
    #expect(lab.readings.last?.question == Messages.name("A.Example") + Messages.words(1, 1))
    lab.pass(.milliseconds(29_100))
    lab.ask("a.example", id: 3)
    #expect(lab.replies.count == 2 && lab.datagrams.count == 2 && lab.counters.cached == 1)
  }

  @Test("only positive answers to questions that want recursion are kept") func kinds() {
    let lab = Lab()
    func isKept(_ message: [UInt8], _ records: [[UInt8]], code: Int = 0) -> Bool {
      lab.clear()
      lab.ask(message)
      lab.answer(records, code: code)
      lab.ask(message)
      return lab.datagrams.count == 1
    }
    #expect(isKept(Messages.question("a.example"), [Messages.a("192.0.2.1")]))
    #expect(!isKept(Messages.question("b.example"), []))
    #expect(!isKept(Messages.question("c.example"), [], code: 3))
    #expect(!isKept(Messages.question("d.example"), [Messages.a("192.0.2.1")], code: 3))
    #expect(!isKept(Messages.question("e.example"), [Messages.a("192.0.2.1", ttl: 0)]))
    #expect(!isKept(Messages.question("f.example", flags: 0), [Messages.a("192.0.2.1")]))
    #expect(isKept(Messages.question("a.example", payload: 1232), [Messages.a("192.0.2.1")]), "with EDNS it is another question")
  }

  @Test("another network, other servers and another life of the tunnel forget what was known") func forgotten() {
    let lab = Lab()
    func isKnown(_ name: String) -> Bool {
      lab.clear()
      lab.ask(name)
      guard lab.replies.isEmpty else { return true }
      lab.answer()
      return false
    }
    #expect(!isKnown("a.example") && isKnown("a.example"))
    var configuration = Lab.configuration(corp: .connectAlways(trigger: 0))
    configuration.dispositions[1] = .forward(group: 0)
    lab.configure(configuration)
    #expect(isKnown("a.example"), "other rules")
    configuration.network = 2
    lab.configure(configuration)
    #expect(!isKnown("a.example") && isKnown("a.example"))
    configuration.groups[0].servers = [Lab.second]
    lab.configure(configuration)
    #expect(!isKnown("a.example"))
    lab.set(.connected)
    #expect(!isKnown("git.corp.example") && isKnown("git.corp.example") && isKnown("a.example"))
    lab.set(.down)
    lab.set(.connected)
    #expect(!isKnown("git.corp.example") && isKnown("a.example"))
  }

  @Test("it has at most 4 MiB, and what is found is what was kept last") func bounds() throws {
    var random = SplitMix64(seed: 3)
    var cache = AnswerCache(seed: 1)
    var kept: [(name: String, answer: [UInt8])] = []
    let now = Moment(nanoseconds: 1)
    var found = 0
    for i in 0..<60_000 {
      let name = "host\(random.next() % 20_000).example"
      let question = Messages.question(name)
      let size = i < 30_000 ? Int(random.next() % 200) : Int(random.next() % 8000)
      let answer = Messages.answer(to: question, [Messages.record(16, [UInt8](repeating: UInt8(i & 0xff), count: size))])
      let outline = try QuestionOutline(question.span)
      let key = QuestionKey(question.span, outline.range, flags: outline.flags, edns: nil, seed: 9)
      let parsed = AnswerOutline(answer.span)
      let read = try #require(parsed)
      cache.store(answer.span, read, key, partition: 1, at: now)
      kept.append((name, answer))
      if kept.count > 50 { kept.removeFirst() }
      guard i % 100 == 0 else { continue }
      // Of one name the last one counts.
      for (place, one) in kept.enumerated() where !kept[(place + 1)...].contains(where: { $0.name == one.name }) {
        let question = Messages.question(one.name)
        let outline = try QuestionOutline(question.span)
        let key = QuestionKey(question.span, outline.range, flags: outline.flags, edns: nil, seed: 9)
        var answer: [UInt8] = []
        let isThere = cache.find(key, question.span, outline.range, partition: 1, at: now) { bytes, _ in
          for i in 0..<bytes.count { answer.append(bytes[i]) }
        }
        #expect(isThere && answer == one.answer)
        found += 1
        let isElsewhere = cache.find(key, question.span, outline.range, partition: 2, at: now) { _, _ in }
        #expect(!isElsewhere)
      }
    }
    #expect(found > 10_000)
    #expect(cache.memory < 5 << 20, "\(cache.memory)")
  }
}
