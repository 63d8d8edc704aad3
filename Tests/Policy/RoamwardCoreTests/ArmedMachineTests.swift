import NetworkTypes
import RoamwardCore
import Testing

/// The states of a tunnel that is to be armed.
@Suite struct ArmedMachineTests {
  let start = Moment(nanoseconds: 0)
  func at(_ seconds: Int64) -> Moment { start + .seconds(seconds) }

  func machine(_ events: TunnelMachine.Event...) -> TunnelMachine {
    var machine = TunnelMachine()
    for event in [.want(.armed), .prepared, .applied, .applied] + events { _ = machine.handle(event, at: start) }
    return machine
  }

  @Test("it is in place without a session, and a packet, an answer and a pause bring it to a session and back") func lifeCycle() {
    var machine = TunnelMachine()
    #expect(machine.handle(.want(.armed), at: start) == [.arm])
    #expect(machine.level == .nothing && machine.state.status == "connecting")
    #expect(machine.handle(.prepared, at: start) == [] && machine.level == .link && machine.isSilent)
    #expect(machine.handle(.applied, at: start) == [] && machine.level == .armed && machine.state.status == "connecting")
    #expect(machine.handle(.applied, at: start) == [] && machine.state == .armed)
    #expect(machine.state.status == "armed" && machine.nextDeadline == nil && machine.isSilent && !machine.state.isAwaitingAnswer)
    #expect(machine.handle(.called, at: at(1)) == [])
    #expect(machine.state == .called(deadline: at(16)) && machine.level == .armed && machine.isSilent)
    #expect(machine.handle(.peerAnswered, at: at(2)) == [] && machine.level == .full && !machine.isSilent)
    #expect(machine.handle(.applied, at: at(2)) == [] && machine.state == .connected && machine.endsWhenIdle)
    #expect(machine.handle(.idle, at: at(400)) == [.rearm])
    #expect(machine.state == .armed && machine.failure == nil && machine.isSilent)
    #expect(machine.handle(.want(.down), at: at(500)) == [.tearDown] && machine.level == .nothing)
  }

  @Test("without an answer it is armed again, with the reason; the next packet asks again, and success clears it") func unanswered() {
    var machine = machine(.called)
    #expect(machine.handle(.tick, at: at(15)) == [.rearm])
    #expect(machine.state == .armed && machine.level == .armed && machine.trouble == .peerTimeout)
    #expect(machine.failure?.description == "a packet asked for it, and the peer did not answer within 15 s; armed again")
    for event in [TunnelMachine.Event.called, .peerAnswered, .applied] { _ = machine.handle(event, at: at(20)) }
    #expect(machine.state == .connected && machine.failure == nil)
  }

  @Test("another network, a loss of the network and a sleep ask nobody while it is armed") func roams() {
    var machine = machine()
    #expect(machine.handle(.underlayChanged, at: at(1)) == [.rearm] && machine.state == .armed)
    #expect(machine.handle(.underlayLost, at: at(2)) == [] && machine.state == .armed)
    #expect(machine.handle(.slept, at: at(3)) == [] && machine.state == .armed)
    _ = machine.handle(.called, at: at(4))
    #expect(machine.handle(.underlayChanged, at: at(5)) == [.rearm] && machine.state == .armed)
  }

  @Test("connected, it is verified on another network as any tunnel; without an answer it is armed, not down") func reasserts() {
    var machine = machine(.called, .peerAnswered, .applied)
    #expect(machine.handle(.underlayChanged, at: start) == [.reassert] && machine.level == .full)
    var unresolved = machine
    #expect(unresolved.handle(.failed(TunnelFailure(.endpointUnresolved, "no such name")), at: at(1)) == [.rearm])
    #expect(unresolved.state == .armed && unresolved.failure?.code == .endpointUnresolved)
    #expect(machine.handle(.tick, at: at(15)) == [.rearm] && machine.level == .armed)
  }

  @Test("wanted up, it keeps its routes while it connects, and neither idleness nor a pause ends it") func wantedUp() {
    var machine = machine()
    #expect(machine.handle(.want(.up), at: start) == [.renewSessions])
    #expect(machine.level == .armed && !machine.isSilent && machine.state.isAwaitingAnswer)
    for event in [TunnelMachine.Event.peerAnswered, .applied] { _ = machine.handle(event, at: at(1)) }
    #expect(machine.state == .connected && !machine.endsWhenIdle)
    #expect(machine.handle(.idle, at: at(9999)) == [] && machine.state == .connected)
    #expect(machine.handle(.want(.armed), at: at(10_000)) == [] && machine.state == .connected && machine.endsWhenIdle)
    var waiting = self.machine(.want(.up))
    #expect(waiting.handle(.tick, at: at(15)) == [.tearDown] && waiting.level == .nothing, "a rule that connects: as any tunnel")
  }

  @Test("a lost device is made again, silently; a second loss within a minute waits") func loses() {
    var machine = machine()
    #expect(machine.handle(.deviceGone, at: start) == [.rearm] && machine.level == .link && machine.isSilent)
    for _ in 0..<2 { _ = machine.handle(.applied, at: at(1)) }
    #expect(machine.state == .armed)
    #expect(machine.handle(.deviceGone, at: at(2)) == [.tearDown] && machine.failure?.code == .linkGone)
  }

  @Test("no sequence of events breaks what always holds") func invariants() {
    let events: [TunnelMachine.Event] = [
      .want(.up), .want(.armed), .want(.armed), .want(.down), .prepared, .peerAnswered, .applied, .called, .idle,
      .failed(TunnelFailure(.stepFailed, "x")), .failed(TunnelFailure(.endpointUnresolved, "x")), .underlayChanged, .underlayLost, .slept,
      .deviceGone, .peerSilent(for: .seconds(24)), .removed, .settingsChanged, .tick,
    ]
    let fresh: [TunnelMachine.Effect] = [.prepare, .arm, .rearm, .tearDown]
    var isAnswered = false
    liveRandomly(5000, by: events) { step in
      let (before, event, machine) = (step.before, step.event, step.machine)
      if step.isFirst || step.effects.contains(where: fresh.contains) { isAnswered = false }
      if event == .peerAnswered, before.state.isAwaitingAnswer { isAnswered = true }
      #expect(machine.state != .connected || machine.isWanted && isAnswered, "connected only while wanted, after an answer")
      #expect(machine.level != .armed || machine.isWanted, "routes only while wanted")
      if machine.isSilent {
        let asks: [TunnelMachine.Effect] = [.prepare, .probePeer, .reassert, .renewSessions]
        #expect(!step.effects.contains(where: asks.contains), "armed, it asks nobody: \(before.state) \(event)")
      }
      if case .armed = machine.state { #expect(machine.target == .armed && machine.nextDeadline == nil) }
      if before.target == .up, event == .idle { #expect(machine == before, "a session that is wanted never ends by idleness") }
    }
  }
}
