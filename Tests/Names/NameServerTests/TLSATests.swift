import Glibc
import NetworkTypes
import SeededRandom
import Testing

@testable import NameServer

/// `NAMES_FUZZ=10000000` asks for so many messages, `NAMES_SEED=1` for a sequence.
private let messages = getenv("NAMES_FUZZ").flatMap { Int(String(cString: $0)) } ?? 60_000
private let seed = getenv("NAMES_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64(getpid()) << 32 ^ UInt64(time(nil))

/// Questions for TLSA records (RFC 6698), and answers to them.
@Suite("TLSA records") struct TLSATests {
  private static let name = "_51820._tcp.vpn.example.com"
  private static let key = [UInt8](0..<32)
  private static let rightful = Messages.record(52, [3, 1, 1] + key)

  private func question() throws -> [UInt8] { TLSAMessage.question(try #require(DomainName(Self.name)), id: 0x1234) }

  private func answer(_ records: [[UInt8]], flags: Int = 0, extra: [[UInt8]] = [], code: Int = 0) throws -> [UInt8] {
    var message = Messages.answer(to: try question(), records, code: code, extra: extra)
    message[3] |= UInt8(flags)
    return message
  }

  private func read(_ message: [UInt8]) throws -> TLSAMessage.Answer? { TLSAMessage.answer(message, to: try question()) }

  @Test("the question asks for recursion and for the AD bit") func asked() throws {
    #expect(try question() == Messages.question(Self.name, type: 52, flags: 0x0120))
  }

  @Test("an answer gives its code, its AD bit and the records of the name") func records() throws {
    let right = TLSARecord(usage: 3, selector: 1, matchingType: 1, association: Self.key)
    let other = TLSARecord(usage: 2, selector: 0, matchingType: 2, association: [9])
    let plain = try #require(try read(try answer([Self.rightful, Messages.record(52, [2, 0, 2, 9])])))
    #expect(plain.code == 0 && !plain.isAuthenticated && plain.records == [right, other])
    #expect(try read(try answer([Self.rightful], flags: 0x20))?.isAuthenticated == true)
    let none = try #require(try read(try answer([], flags: 0x20, code: 3)))
    #expect(none.code == 3 && none.isAuthenticated && none.records.isEmpty)
    #expect(try read(try answer([], code: 2))?.code == 2)
    // Another type, class, name or section.
    let spelled = Messages.record(52, [3, 1, 1, 7], name: Messages.name("_51820._TCP.vpn.Example.com"))
    var chaos = Self.rightful
    chaos[5] = 3
    let others = [
      Messages.a("192.0.2.1"), Messages.record(46, [3, 1, 1, 8]), chaos,
      Messages.record(52, [3, 1, 1, 6], name: Messages.name("example.com")),
    ]
    #expect(try read(try answer([spelled] + others, extra: [Self.rightful]))?.records.map(\.association) == [[7]])
  }

  @Test("aliases are followed from the name that was asked, in any order, and not in circles") func aliases() throws {
    let first = Messages.record(5, Messages.name("tlsa.example.com"))
    let second = Messages.record(5, Messages.name("Keys.example.net"), name: Messages.name("TLSA.example.com"))
    let end = Messages.record(52, [3, 1, 1, 4], name: Messages.name("keys.example.net"))
    #expect(try read(try answer([end, second, first]))?.records.map(\.association) == [[4]])
    #expect(try read(try answer([second, end]))?.records == [])
    // Beside an alias there is nothing else (RFC 1034 section 3.6.2).
    #expect(try read(try answer([first, Self.rightful]))?.records == [])
    let back = Messages.record(5, [0xc0, 12], name: Messages.name("tlsa.example.com"))
    #expect(try read(try answer([first, back, Self.rightful])) != nil)
    #expect(try read(try answer([Messages.record(5, Messages.name("tlsa.example.com") + [0]), end])) == nil)
    #expect(try read(try answer([Messages.record(5, [4, 97]), end])) == nil)
  }

  @Test("what is no whole answer to the question is none") func refused() throws {
    let whole = try answer([Self.rightful])
    #expect(try read(whole) != nil)
    for length in 0..<whole.count { #expect(try read(Array(whole[..<length])) == nil, "\(length) bytes") }
    func changed(_ offset: Int, _ value: UInt8) -> [UInt8] {
      var message = whole
      message[offset] = value
      return message
    }
    // Another ID, a question, another operation, truncated, no question, another name, another type.
    for message in [
      changed(0, 0x13), changed(2, 0x01), changed(2, 0x89), changed(2, 0x83), changed(5, 0), changed(13, 0x61),
      changed(Messages.questionEnd(whole) - 3, 53),
    ] {
      #expect(try read(message) == nil, "\(message)")
    }
    // A field is missing, and there are more records than a name has.
    #expect(try read(try answer([Messages.record(52, [3, 1, 1])])) == nil && read(try answer([Messages.record(52, [])])) == nil)
    #expect(try read(try answer(Array(repeating: Self.rightful, count: 64))) != nil)
    #expect(try read(try answer(Array(repeating: Self.rightful, count: 65))) == nil)
  }

  @Test("no message stops the reader, and each record that it gives is in the message") func mutated() throws {
    print("messages: \(messages), NAMES_SEED=\(seed)")
    var random = SplitMix64(seed: seed)
    let question = try question()
    let kinds: [[UInt8]] = [
      Self.rightful, Messages.record(52, [3, 1, 1]), Messages.record(5, [0xc0, 12]), Messages.record(5, Messages.name("tlsa.example.com")),
      Messages.record(52, [3, 1, 1, 4], name: Messages.name("tlsa.example.com")), Messages.record(5, [1, 97, 0xc0, 40]),
      Messages.record(46, [0, 52, 1]),
    ]
    var accepted = 0
    for number in 0..<messages {
      var message = Messages.answer(to: question, (0..<random.next() % 5).map { _ in random.pick(kinds) })
      if random.chance(0.02) { message = (0..<random.next() % 300).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
      mutate(&message, &random)
      guard let read = TLSAMessage.answer(message, to: question) else { continue }
      accepted += 1
      for record in read.records {
        let data = [record.usage, record.selector, record.matchingType] + record.association
        #expect(!record.association.isEmpty && message.contains(data), "NAMES_SEED=\(seed), message \(number): \(message)")
      }
      #expect(message[0...1] == question[0...1] && message[2] & 0x80 != 0 && read.isAuthenticated == (message[3] & 0x20 != 0))
    }
    #expect(accepted > messages / 10, "NAMES_SEED=\(seed): \(accepted)")
  }

  /// Flips bits, cuts, inserts and repeats, or leaves it as it is.
  private func mutate(_ message: inout [UInt8], _ random: inout SplitMix64) {
    let kind = random.next() % 6
    guard kind > 1, !message.isEmpty else { return }
    for _ in 0...(random.next() % 3) where !message.isEmpty {
      let place = Int(random.next() % UInt64(message.count))
      switch kind {
      case 2: message[place] ^= 1 << UInt8(random.next() % 8)
      case 3: message[place] = random.pick([0, 0x3f, 0x40, 0xc0, 0xff, 12])
      case 4: message.removeSubrange(place...)
      default: message.insert(contentsOf: message[..<place].prefix(64), at: place)
      }
    }
  }
}
