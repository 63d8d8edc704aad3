import ControlProtocol
import JSON
import NetworkTypes
import RoamwardCore
import Testing

@Suite struct TimelineRecorderTests {
  private func event(_ milliseconds: Int64, _ kind: Event.Kind) -> EventReport {
    Event(time: Timestamp(milliseconds: 1_000_000 + milliseconds), kind: kind).report
  }

  private func decision(_ outcome: String) -> Event.Kind {
    .decision(tunnel: "corp", outcome: outcome, rule: 1, name: nil, code: .networkChanged, reason: "")
  }

  @Test("networks that follow each other within a second: each decision is expected before the next network, and the order stays")
  func quick() {
    var recorder = TimelineRecorder(beginning: Timestamp(seconds: 1_000))
    let events = [
      event(4_100, .snapshot("none")), event(4_150, decision("ignore")),
      event(4_300, .snapshot("home")), event(4_900, decision("disconnect")), event(4_950, decision("pending")),
      event(9_000, .snapshot("cafe")), event(9_400, decision("connect")),
    ]
    let steps = events.compactMap { recorder.step(for: $0)?.text() }
    #expect(
      steps == [
        #"{"at":"4s","network":"none"}"#, #"{"at":"5s","expect":{"corp":"ignore"}}"#,
        #"{"at":"5s","network":"home"}"#, #"{"at":"6s","expect":{"corp":"disconnect"}}"#,
        #"{"at":"9s","network":"cafe"}"#, #"{"at":"10s","expect":{"corp":"connect"}}"#,
      ])
  }
}
