import GatewayCore
import GatewayLogin
import LoginProtocol
import NetworkTypes
import Testing

@Suite struct AskedQuestionsTests {
  private func token(_ number: UInt32) -> AuthRequest { .token(number: number, hash: [UInt8](repeating: 0, count: 32)) }

  @Test("a bounded number of checks is asked at once; each answer makes room, and other questions need none") func bound() {
    var asked = AskedQuestions()
    func areBegun(_ requests: [AuthRequest]) -> [Bool] { requests.map { asked.begin($0) } }
    #expect(areBegun((0..<UInt32(AskedQuestions.limit)).map(token)).allSatisfy { $0 })
    let others: [AuthRequest] = [.code(number: 5, code: []), .record(.wrongPassword, name: "al", source: IPAddress(v4: 1))]
    #expect(areBegun([token(1000), token(1001)] + others) == [false, false, true, true])
    asked.answered(7)
    #expect(areBegun([token(1000), token(1001)]) == [true, false])
    // A client that hangs up makes no room: its answer is still to come.
    asked.end(9)
    #expect(areBegun([token(1001)]) == [false])
    asked.answered(9)
    #expect(areBegun([token(1001)]) == [true])
  }

  @Test("the gateway hears of the end of each conversation that it knows, once, in their order, however late") func ends() {
    var asked = AskedQuestions()
    for number: UInt32 in [3, 1, 2] { _ = asked.begin(token(number)) }
    for number: UInt32 in [9, 1, 3, 1] { asked.end(number) }
    var told: [UInt32] = []
    while let next = asked.nextEnd {
      told.append(next)
      asked.endIsTold()
    }
    #expect(told == [1, 3])
  }
}
