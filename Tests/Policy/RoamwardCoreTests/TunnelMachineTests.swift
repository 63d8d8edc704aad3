import NetworkTypes
import RoamwardCore
import Testing

@Suite struct TunnelMachineTests {
  let start = Moment(nanoseconds: 0)
  func at(_ seconds: Int64) -> Moment { start + .seconds(seconds) }

  /// Brings a machine to `connected`.
  func connected() -> TunnelMachine {
    var machine = TunnelMachine()
    for event in [TunnelMachine.Event.want(.up), .prepared, .peerAnswered, .applied] { _ = machine.handle(event, at: start) }
    return machine
  }

  @Test("up and down, with the level that the kernel has to show") func lifeCycle() {
    var machine = TunnelMachine()
    #expect(machine.handle(.want(.up), at: start) == [.prepare])
    #expect(machine.level == .nothing && machine.state.status == "connecting")
    #expect(machine.handle(.prepared, at: start) == [.probePeer])
    #expect(machine.level == .link)
    #expect(machine.handle(.applied, at: start) == [] && machine.state.status == "connecting")
    #expect(machine.handle(.peerAnswered, at: start) == [])
    #expect(machine.level == .full && machine.state.status == "connecting")
    #expect(machine.handle(.applied, at: start) == [])
    #expect(machine.state == .connected && machine.nextDeadline == nil)
    #expect(machine.handle(.want(.down), at: start) == [.tearDown])
    #expect(machine.level == .nothing && machine.state == .disconnecting)
    #expect(machine.handle(.removed, at: start) == [])
    #expect(machine.state == .disconnected)
  }

  @Test("a peer that does not answer is given up, and tried again ever later") func backsOff() throws {
    var machine = TunnelMachine()
    _ = machine.handle(.want(.up), at: start)
    var now = start
    var delays: [Duration] = []
    for _ in 0..<9 {
      _ = machine.handle(.prepared, at: now)
      now = try #require(machine.nextDeadline)
      #expect(machine.handle(.tick, at: now) == [.tearDown])
      #expect(machine.failure?.description == "the peer did not answer within 15 s")
      let next = try #require(machine.nextDeadline)
      delays.append(next - now)
      now = next
      #expect(machine.handle(.tick, at: now) == [.prepare])
    }
    #expect(delays == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
  }

  @Test("while a person is asked, no time limit passes; it begins anew when nobody is asked any more") func asks() {
    var doubtful = connected()
    _ = doubtful.handle(.reasserting("signs in again"), at: start)
    var starting = TunnelMachine()
    _ = starting.handle(.want(.up), at: start)
    for var machine in [doubtful, starting] {
      #expect(machine.nextDeadline == at(15))
      #expect(machine.handle(.asks(until: at(300)), at: at(10)) == [] && machine.nextDeadline == at(315))
      #expect(machine.handle(.tick, at: at(200)) == [])
      #expect(machine.handle(.asks(until: nil), at: at(200)) == [] && machine.nextDeadline == at(215))
      #expect(machine.handle(.tick, at: at(215)) == [.tearDown] && machine.failure != nil)
    }
    var machine = connected()
    #expect(machine.handle(.asks(until: at(300)), at: at(10)) == [] && machine.state == .connected)
  }

  @Test("a deadline that has not come is no deadline") func early() {
    var machine = TunnelMachine()
    _ = machine.handle(.want(.up), at: start)
    let before = machine
    #expect(machine.handle(.tick, at: at(14)) == [])
    #expect(machine == before)
  }

  @Test("on another network it stays up and asks the peer; without an answer it starts anew") func roams() {
    var machine = connected()
    #expect(machine.handle(.underlayChanged, at: start) == [.reassert])
    #expect(machine.state == .reasserting(deadline: at(15)) && machine.level == .full)
    var answered = machine
    #expect(answered.handle(.peerAnswered, at: at(1)) == [] && answered.state == .connected)
    #expect(machine.handle(.tick, at: at(15)) == [.tearDown])
    #expect(machine.level == .nothing && machine.nextDeadline == at(16))
  }

  @Test("without a network it waits for one, without a deadline") func offline() {
    var machine = connected()
    #expect(machine.handle(.underlayLost, at: start) == [])
    #expect(machine.nextDeadline == nil && machine.level == .full && !machine.state.isAwaitingAnswer)
    #expect(machine.handle(.underlayChanged, at: at(100)) == [.reassert])
    #expect(machine.state.isAwaitingAnswer)
  }

  @Test("wanted again while it goes down, it comes up once it is down") func changesItsMind() {
    var machine = connected()
    _ = machine.handle(.want(.down), at: start)
    #expect(machine.handle(.want(.up), at: start) == [])
    #expect(machine.state == .disconnecting)
    #expect(machine.handle(.removed, at: start) == [.prepare])
  }

  @Test("another network ends a back-off at once") func freshStart() {
    var machine = TunnelMachine()
    _ = machine.handle(.want(.up), at: start)
    _ = machine.handle(.failed(TunnelFailure(.stepFailed, "no route")), at: start)
    #expect(machine.handle(.underlayChanged, at: start) == [.prepare])
  }

  @Test("no sequence of events breaks what always holds") func invariants() {
    let events: [TunnelMachine.Event] = [
      .want(.up), .want(.down), .prepared, .peerAnswered, .applied, .failed(TunnelFailure(.stepFailed, "x")), .underlayChanged,
      .underlayLost, .removed,
      .tick,
    ]
    liveRandomly(2000, by: events) { step in
      let machine = step.machine
      #expect(machine.state != .connected || machine.isWanted, "connected only while wanted")
      if case .backingOff = machine.state { #expect(machine.failure != nil) }
    }
  }
}
