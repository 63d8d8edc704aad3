import Glibc
import NetworkTypes
import SeededRandom
import Testing

@testable import NameServer

/// `NAMES_FUZZ=10000000` asks for so many messages, `NAMES_SEED=1` for a sequence.
private let messages = getenv("NAMES_FUZZ").flatMap { Int(String(cString: $0)) } ?? 60_000
private let seed = getenv("NAMES_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64(getpid()) << 32 ^ UInt64(time(nil))

/// Random and mutated messages of clients and of name servers.
@Suite("Mutated DNS messages") struct MessageFuzzTests {
  @Test("no message stops the name server, or makes it send one that cannot be read") func mutated() {
    print("messages: \(messages), NAMES_SEED=\(seed)")
    var random = SplitMix64(seed: seed)
    let lab = Lab(blocked: true, seed: seed)
    var done = 0
    var accepted = 0
    var replies = 0
    while done < messages {
      lab.clear()
      switch random.next() % 8 {
      case 0..<4: lab.ask(question(&random))
      default:
        // An answer to an open question, of which something is changed.
        lab.ask("h\(random.next() % 2000)." + (random.chance(0.2) ? "corp.example" : "example"), type: random.pick([1, 28, 65]))
        guard let asked = lab.datagrams.last else { break }
        var answer = self.answer(to: asked.message, &random)
        mutate(&answer, &random, after: random.chance(0.9) ? Messages.questionEnd(asked.message) : 0)
        let before = lab.counters.answers
        if random.chance(0.1) {
          lab.deliver(Messages.answer(to: asked.message, isTruncated: true), to: asked.datagram)
          if case .openStream(let number, _, _, _, _)? = lab.requests.last { lab.receive(answer, onStream: number) }
        } else {
          lab.deliver(answer, to: asked.datagram)
        }
        accepted += lab.counters.answers > before ? 1 : 0
      }
      for (client, message, _) in lab.replies {
        replies += 1
        guard let reading = Reading(message) else {
          Issue.record("NAMES_SEED=\(seed), message \(done): \(message)")
          return
        }
        // No client gets more than it takes, and none a success without its question.
        #expect(client.transport != .datagram || message.count <= 5000)
        #expect(!reading.question.isEmpty || reading.code == 1 || reading.code == 4)
      }
      if done % 50 == 0 { lab.pass(.milliseconds(Int(random.next() % 400))) }
      if done % 4000 == 0 { lab.set(random.pick([.down, .connected, .failed])) }
      done += 1
    }
    // Both sides of the checks are exercised.
    #expect(accepted > messages / 20 && replies > messages / 10, "NAMES_SEED=\(seed): \(accepted), \(replies)")
    lab.clear()
    lab.pass(.seconds(10))
    #expect(lab.machine.held == 0 && lab.machine.open == 0)
  }

  private func question(_ random: inout SplitMix64) -> [UInt8] {
    if random.chance(0.1) { return (0..<random.next() % 300).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
    let name = random.pick(["a.example", "git.corp.example", "use-application-dns.net", "", String(repeating: "abcdefgh.", count: 27)])
    var message = Messages.question(name, type: Int(random.next() % 300), payload: random.chance(0.5) ? Int(random.next() % 5000) : nil)
    mutate(&message, &random, after: 0)
    return message
  }

  private func answer(to question: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
    let end = Messages.questionEnd(question)
    let pointers: [[UInt8]] = [[0xc0, 12], [0xc0, UInt8(end)], [1, 97, 0xc0, 12], [0], [0xc0 | UInt8(end >> 8), UInt8(end + 2)]]
    let hints = Messages.words(1) + [0] + Messages.words(4, 4) + [10, 77, 0, 1] + Messages.words(6, 16) + [UInt8](repeating: 7, count: 16)
    let kinds: [(Int, [UInt8])] = [
      (1, [198, 51, 100, 7]), (28, [UInt8](repeating: 3, count: 16)), (65, hints), (5, [0xc0, 12]), (6, [0]),
    ]
    let records = (0..<random.next() % 5).map { _ in
      let (type, data) = random.pick(kinds)
      return Messages.record(type, data, ttl: Int(random.next() % 1000), name: random.pick(pointers))
    }
    return Messages.answer(to: question, records, code: random.chance(0.8) ? 0 : Int(random.next() % 16), echoesEDNS: random.chance(0.7))
  }

  /// Flips bits, cuts, inserts and repeats, or leaves it as it is.
  private func mutate(_ message: inout [UInt8], _ random: inout SplitMix64, after start: Int) {
    let kind = random.next() % 6
    guard kind > 1, message.count > start else { return }
    for _ in 0...(random.next() % 3) where message.count > start {
      let place = start + Int(random.next() % UInt64(message.count - start))
      switch kind {
      case 2: message[place] ^= 1 << UInt8(random.next() % 8)
      case 3: message[place] = random.pick([0, 0x3f, 0x40, 0xc0, 0xff, 12])
      case 4: message.removeSubrange(place...)
      default: message.insert(contentsOf: message[start..<place].prefix(64), at: place)
      }
    }
  }
}
