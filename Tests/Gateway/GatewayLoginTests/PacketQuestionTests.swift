import GatewayCore
import GatewayLogin
import LoginProtocol
import NetworkTypes
import SeededRandom
import Testing

@Suite("Questions about packets")
struct PacketQuestionTests {
  private let seal: SealedDatagram.Seal = { bytes in
    let sum = bytes.reduce(UInt8(7)) { $0 &* 31 &+ $1 }
    return (0..<32).map { sum &+ $0 }
  }

  private func questions() throws -> [PacketQuestion] {
    try ["10.20.1.2", "2001:db8::7"].map {
      PacketQuestion(number: 0x0102_0304_0506_0708, to: try #require(IPAddress($0)), transport: 6, port: 443)
    }
  }

  @Test("the bytes are those of docs/wire-format.md") func bytes() throws {
    let datagram = try #require(questions()[0].datagram(seal))
    #expect(
      datagram.dropLast(32) == [
        0, 29, 7, 1, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 2, 0, 5, 4, 10, 20, 1, 2, 3, 0, 1, 6, 4, 0, 2, 1, 0xbb,
      ])
    #expect(datagram.count == PacketQuestion.length(.v4))
    // With the header of UDP, as the firewall compares it.
    #expect(GatewayTable.questions.lengths == "\(datagram.count + 8), \(PacketQuestion.length(.v6) + 8)")
    #expect(GatewayTable.questions.port == SettingsPush.port)
    let answer = PacketAnswer(number: 258, stop: .access, rule: "web", source: IPAddress("10.77.0.2"))
    #expect(
      answer.datagram(seal)?.dropLast(32) == [
        0, 30, 0x87, 1, 0, 8, 0, 0, 0, 0, 0, 0, 1, 2, 2, 0, 1, 4, 3, 0, 3, 0x77, 0x65, 0x62, 4, 0, 5, 4, 10, 77, 0, 2,
      ])
  }

  @Test("what is written is read; another byte, length or seal is none") func refused() throws {
    for question in try questions() {
      let datagram = try #require(question.datagram(seal))
      #expect(PacketQuestion(datagram, seal) == question)
      #expect(PacketQuestion(datagram) { seal($0 + [0]) } == nil && PacketQuestion(datagram) { _ in nil } == nil)
      for count in 0..<datagram.count { #expect(PacketQuestion(Array(datagram.prefix(count)), seal) == nil) }
      #expect(PacketQuestion(datagram + [0], seal) == nil)
      for i in datagram.indices {
        var other = datagram
        other[i] ^= 1
        #expect(PacketQuestion(other, seal) == nil)
      }
    }
    let answers = [
      PacketAnswer(number: 7), PacketAnswer(number: 7, stop: .route, rule: "a", source: IPAddress("fd77::2")),
      PacketAnswer(number: .max, source: IPAddress("10.77.0.2"), link: "eth0", nextHop: IPAddress("192.0.2.1"), isTranslated: true),
    ]
    for answer in answers {
      let datagram = try #require(answer.datagram(seal))
      #expect(PacketAnswer(datagram, seal) == answer && PacketAnswer(datagram) { seal($0 + [0]) } == nil)
    }
  }

  @Test("no bytes of a device that has the key crash a reader; what it reads is what it would write") func fuzz() throws {
    var random = SplitMix64(seed: 67)
    let questions = try questions().map(\.frame.bytes)
    let answer = PacketAnswer(
      number: 7, stop: .route, rule: "a", source: IPAddress("10.77.0.2"), link: "eth0", nextHop: IPAddress("192.0.2.1"), isTranslated: true)
    var read = 0
    for _ in 0..<10_000 {
      var bytes = random.pick(questions + [answer.frame.bytes])
      for _ in 0..<(1 + random.next() % 3) { bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(random.next() & 0xff) }
      if random.chance(0.1) { bytes = (0..<Int(random.next() % 90)).map { _ in UInt8(random.next() & 0xff) } }
      let datagram = bytes + (seal(bytes) ?? [])
      if let question = PacketQuestion(datagram, seal) {
        #expect(question.frame.bytes == bytes)
        read += 1
      }
      if let answer = PacketAnswer(datagram, seal) { #expect(PacketAnswer(answer.datagram(seal) ?? [], seal) == answer) }
    }
    #expect(read > 100)
  }

  @Test("a device has ten questions at once and one a second, whatever others ask") func budget() {
    var budget = QuestionBudget()
    let start = Moment(nanoseconds: 0)
    func taken(_ device: Int64, _ count: Int, at seconds: Int) -> Int {
      (0..<count).filter { _ in budget.take(device, at: start + .seconds(seconds)) }.count
    }
    #expect(taken(1, 20, at: 0) == 10 && taken(2, 3, at: 0) == 3)
    #expect(taken(1, 5, at: 1) == 1 && taken(1, 5, at: 4) == 3)
    #expect(taken(1, 20, at: 100) == 10)
    for device in 10..<5000 { #expect(taken(Int64(device), 1, at: 200) == 1) }
    #expect(taken(1, 20, at: 200) == 10)
    #expect((0..<50).filter { _ in budget.take(1, at: start + .milliseconds(200_000 + 500)) }.isEmpty)
  }
}
