import NetworkTypes
import Testing

@testable import NameServer

/// Messages of RFC 1035, EDNS of RFC 6891, hints of RFC 9460.
@Suite("DNS messages") struct MessageTests {
  private func outline(_ message: [UInt8]) throws(QuestionOutline.Fault) -> QuestionOutline { try QuestionOutline(message.span) }

  private func code(of message: [UInt8]) -> UInt16? {
    do throws(QuestionOutline.Fault) { _ = try outline(message) } catch {
      if case .code(let code) = error { return code }
    }
    return nil
  }

  private func plainEnd(_ message: [UInt8], at start: Int) -> Int? { NameCoding.plainEnd(of: message.span, at: start) }
  private func end(_ message: [UInt8], at start: Int) -> Int? { NameCoding.end(of: message.span, at: start) }
  private func expanded(_ message: [UInt8], at start: Int) -> [UInt8]? { NameCoding.expanded(in: message.span, at: start) }
  private func isValid(_ message: [UInt8], at start: Int) -> Bool { NameCoding.isValid(in: message.span, at: start) }
  private func answer(_ message: [UInt8]) -> AnswerOutline? { AnswerOutline(message.span) }

  @Test("a question gives its ID, flags, type, class and EDNS") func question() throws {
    let message = Messages.question("Host.Corp.Example", type: 65, id: 0xabcd, flags: 0x0130, payload: 4096, wantsSignatures: true)
    let read = try outline(message)
    #expect(read.id == 0xabcd && read.flags == 0x0130 && read.type == 65 && read.questionClass == 1)
    #expect(read.edns?.payload == 4096 && read.edns?.wantsSignatures == true && read.edns?.version == 0)
    #expect(Array(message[read.range]) == Messages.name("Host.Corp.Example") + Messages.words(65, 1))
    let owned = Question(message.span, read, from: Lab.client(), at: Moment(nanoseconds: 0))
    #expect(owned.nameText == "Host.Corp.Example" && owned.type == 65)
    #expect(try outline(Messages.question("")).nameEnd == 13)
  }

  @Test("what is no question gets the code that RFC 1035 and RFC 6891 give, or nothing") func faults() {
    let plain = Messages.question("a.example")
    func changed(_ offset: Int, _ value: UInt8) -> [UInt8] {
      var message = plain
      message[offset] = value
      return message
    }
    // A response, and too short a header, get nothing: two name servers would answer each other for ever.
    #expect(code(of: changed(2, 0x81)) == nil && code(of: Array(plain[..<11])) == nil)
    #expect(throws: QuestionOutline.Fault.self) { try outline(changed(2, 0x81)) }
    #expect(code(of: changed(2, 0x29)) == 4, "an update")
    #expect(code(of: changed(5, 0)) == 1 && code(of: changed(5, 2)) == 1 && code(of: changed(7, 1)) == 1 && code(of: changed(9, 1)) == 1)
    #expect(code(of: Array(plain.dropLast())) == 1, "the class is cut off")
    #expect(code(of: changed(12, 0xc0)) == 1, "a pointer")
    #expect(code(of: changed(12, 0x41)) == 1, "a reserved label type")
    #expect(code(of: changed(11, 1)) == 1, "a record that is not there")
    var two = Messages.question("a.example", payload: 512)
    two[11] = 2
    #expect(code(of: two + Messages.opt()) == 1, "two OPT records")
  }

  @Test("names have at most 255 bytes, and pointers lead backwards only") func names() {
    let longest = [UInt8](repeating: 0, count: 12) + Messages.name(String(repeating: "abcdefg.", count: 31) + "abcde")
    #expect(longest.count - 12 == 255)
    #expect(plainEnd(longest, at: 12) == longest.count)
    let longer = [UInt8](repeating: 0, count: 12) + Messages.name(String(repeating: "abcdefg.", count: 31) + "abcdef")
    #expect(plainEnd(longer, at: 12) == nil && end(longer, at: 12) == nil)
    let head = [UInt8](repeating: 0, count: 12)
    let names = head + Messages.name("corp.example") + [1, 97, 0xc0, 12] + [0xc0, 26]
    #expect(expanded(names, at: 26) == Messages.name("a.corp.example"))
    #expect(expanded(names, at: 30) == Messages.name("a.corp.example"))
    #expect(end(names, at: 26) == 30)
    for loop in [[0xc0, 12], [1, 97, 0xc0, 12], [0xc0, 14, 0xc0, 12], [0xc0, 0], [0xc0, 99], [0xc0], [63, 97]] as [[UInt8]] {
      #expect(expanded(head + loop, at: 12) == nil, "\(loop)")
    }
    // A chain of pointers, each to the one before: long enough to cost time with every record.
    var chain = head + [0]
    for i in 0..<2000 { chain += [0xc0 | UInt8((i == 0 ? 12 : 13 + 2 * (i - 1)) >> 8), UInt8((i == 0 ? 12 : 13 + 2 * (i - 1)) & 0xff)] }
    #expect(isValid(chain, at: 13 + 2 * 126) && !isValid(chain, at: 13 + 2 * 1999))
  }

  @Test("a dot or another byte inside a label is not taken for the domain of a rule") func foldedNames() throws {
    func text(_ wire: [UInt8]) -> [UInt8] {
      let text = NameText(wire.span, at: 0)
      return (0..<text.count).map { text.bytes[$0] }
    }
    #expect(text(Messages.name("WWW.Corp_1.eXample")) == Array("www.corp_1.example".utf8))
    #expect(text([6] + Array("x.corp".utf8) + Messages.name("example")) == Array("x".utf8) + [0xff] + Array("corp.example".utf8))
    #expect(text([4, 64, 91, 96, 123, 0]) == [0xff, 0xff, 0xff, 0xff] && text([0]) == [])
    let owned = [6] + Array("x.c\\rp".utf8) + [1, 7, 0, 0, 1, 0, 1]
    let message = Messages.words(1, 0x0100, 1, 0, 0, 0) + owned
    let question = Question(message.span, try outline(message), from: Lab.client(), at: Moment(nanoseconds: 0))
    #expect(question.nameText == "x\\.c\\\\rp.\\007")
  }

  @Test("an answer is read whole: its code with EDNS, its least time to live, its records") func answers() throws {
    let question = Messages.question("a.example", payload: 1232)
    let message = Messages.answer(to: question, [Messages.a("192.0.2.9", ttl: 70), Messages.a("192.0.2.8", ttl: 50)])
    let read = try #require(answer(message))
    #expect(read.code == 0 && read.answers == 2 && read.leastTTL == 50 && read.opt != nil && read.end == message.count)
    #expect(answer(question) == nil, "a question")
    #expect(answer(message.dropLast()) == nil, "the end is cut off")
    #expect(answer(message + [1, 2, 3])?.end == message.count)
    let loop = Messages.answer(to: question, [Messages.record(1, [1, 2, 3, 4], name: [0xc0, UInt8(Messages.questionEnd(question))])])
    #expect(answer(loop) == nil, "a name that leads to itself")
    let negative = Messages.answer(to: question, [Messages.a("192.0.2.9", ttl: 0x8000_0001)])
    #expect(answer(negative)?.leastTTL == 0)
    var extended = Messages.answer(to: question, echoesEDNS: false, extra: [Messages.opt(ttl: 0x0100_0000)])
    #expect(answer(extended)?.code == 16)
    // An OPT record that is not at the root, not in the last section, or not alone.
    #expect(answer(Messages.answer(to: question, echoesEDNS: false, extra: [[1, 97] + Messages.opt()])) == nil)
    #expect(answer(Messages.answer(to: question, [Messages.opt()], echoesEDNS: false)) == nil)
    #expect(answer(Messages.answer(to: question, echoesEDNS: false, extra: [Messages.opt(), Messages.opt()])) == nil)
    extended[3] |= 3
    #expect(answer(extended)?.code == 19)
  }

  @Test("addresses are found in A, AAAA, HTTPS and SVCB records of every section, and inside of IPv6 addresses") func addresses() throws {
    let question = Messages.question("a.example", type: 65)
    let inside = try #require(IPPrefix("10.77.0.0/16"))
    func hasInside(_ records: [[UInt8]], extra: [[UInt8]] = []) -> Bool {
      let message = Messages.answer(to: question, records, extra: extra)
      guard let outline = AnswerOutline(message.span) else { return false }
      return AnswerAddresses.contains(message.span, outline) { inside.contains($0) }
    }
    func v6(_ text: String) -> [UInt8] { IPAddress(text)?.bytes ?? [] }
    let target = Messages.words(1) + Messages.name("svc.example")
    let alpn = Messages.words(1, 3) + [2, 104, 50]
    #expect(hasInside([Messages.a("10.77.3.4")]) && !hasInside([Messages.a("10.78.3.4")]))
    #expect(hasInside([Messages.a("192.0.2.1"), Messages.a("10.77.3.4")]))
    #expect(hasInside([Messages.record(28, v6("::ffff:10.77.3.4"))]) && hasInside([Messages.record(28, v6("64:ff9b::a4d:304"))]))
    #expect(!hasInside([Messages.record(28, v6("2001:db8::a4d:304"))]))
    for type in [64, 65] {
      #expect(hasInside([Messages.record(type, target + alpn + Messages.words(4, 8) + [192, 0, 2, 1, 10, 77, 0, 1])]))
      #expect(hasInside([Messages.record(type, target + Messages.words(6, 16) + v6("::ffff:10.77.3.4"))]))
      #expect(!hasInside([Messages.record(type, target + alpn + Messages.words(4, 4) + [192, 0, 2, 1])]))
      #expect(!hasInside([Messages.record(type, target + Messages.words(4, 9) + [10, 77, 0, 1])]), "a value that is cut off")
      #expect(!hasInside([Messages.record(type, [0])]))
    }
    #expect(hasInside([], extra: [Messages.a("10.77.3.4")]))
    #expect(!hasInside([Messages.record(16, [3, 10, 77, 0])]), "a text")
  }

  @Test("the longest domain decides, by whole labels") func domains() throws {
    var map = DomainMap()
    let names = ["example", "corp.example", "a.corp.example", "x", "org"]
    for (number, name) in names.enumerated() { #expect(map.add(try #require(DomainName(name)), UInt16(number))) }
    let twice = try #require(DomainName("corp.example"))
    #expect(!map.add(twice, 9) && map.count == 5)
    func number(_ text: String) -> UInt16? { map.number(for: Array(text.utf8).span) }
    #expect(number("example") == 0 && number("b.example") == 0 && number("corp.example") == 1 && number("z.corp.example") == 1)
    #expect(number("a.corp.example") == 2 && number("q.a.corp.example") == 2 && number("xcorp.example") == 0)
    #expect(number("com") == nil && number("") == nil && number("an-example") == nil && number("y.x") == 3)
    for i in 0..<5000 { map.add(try #require(DomainName("host\(i).many")), UInt16(truncatingIfNeeded: i)) }
    for i in stride(from: 0, to: 5000, by: 7) { #expect(number("www.host\(i).many") == UInt16(i)) }
    #expect(number("many") == nil && number("a.corp.example") == 2)
  }
}
