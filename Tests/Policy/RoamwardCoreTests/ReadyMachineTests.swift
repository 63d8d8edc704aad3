import NetworkTypes
import RoamwardCore
import Testing

/// The states of a tunnel whose device is ready for a look-up.
@Suite struct ReadyMachineTests {
  let start = Moment(nanoseconds: 0)
  func at(_ seconds: Int64) -> Moment { start + .seconds(seconds) }

  func machine(_ events: TunnelMachine.Event...) -> TunnelMachine {
    var machine = TunnelMachine()
    for event in [.want(.ready), .prepared, .applied] + events { _ = machine.handle(event, at: start) }
    return machine
  }

  @Test("its device is made, and is opened by the wish for the tunnel; down again, the way into it goes before the sessions")
  func lifeCycle() {
    var machine = TunnelMachine()
    #expect(machine.handle(.want(.ready), at: start) == [.arm])
    #expect(machine.level == .nothing && machine.status == "disconnected" && !machine.isWanted && machine.isRunning)
    #expect(machine.handle(.prepared, at: start) == [] && machine.level == .device && machine.isSilent)
    #expect(machine.handle(.applied, at: start) == [] && machine.state == .ready && machine.level == .device)
    #expect(machine.status == "disconnected" && machine.nextDeadline == nil && machine.isSilent && !machine.isWanted)
    #expect(machine.handle(.want(.up), at: at(1)) == [.open])
    #expect(machine.state == .awaitingPeer(attempt: 1, deadline: at(16)) && machine.level == .link && machine.isWanted)
    for event in [TunnelMachine.Event.peerAnswered, .applied] { #expect(machine.handle(event, at: at(2)) == []) }
    #expect(machine.state == .connected && machine.level == .full)
    #expect(machine.handle(.want(.ready), at: at(400)) == [] && machine.level == .link && machine.status == "disconnecting")
    #expect(!machine.isWanted)
    #expect(machine.handle(.applied, at: at(400)) == [.rearm] && machine.level == .device && machine.status == "disconnected")
    #expect(machine.handle(.applied, at: at(400)) == [] && machine.state == .ready)
    #expect(machine.handle(.want(.down), at: at(500)) == [.tearDown] && machine.level == .nothing && machine.status == "disconnected")
    #expect(machine.handle(.want(.ready), at: at(500)) == [] && machine.handle(.removed, at: at(501)) == [.arm])
  }

  @Test("no network, no sleep and nothing that the peer does moves it; on another network it only learns where the peer is")
  func unmoved() {
    var machine = machine()
    let ready = machine
    #expect(machine.handle(.underlayChanged, at: at(1)) == [.rearm] && machine == ready)
    for event in [TunnelMachine.Event.underlayLost, .slept, .peerAnswered, .called, .idle, .settingsChanged, .retry, .tick] {
      #expect(machine.handle(event, at: at(99)) == [] && machine == ready, "\(event)")
    }
  }

  @Test("a lost device is made again; a second loss within a minute waits, ever longer, and is still no start of the tunnel")
  func loses() throws {
    var machine = machine()
    #expect(machine.noticesLoss && machine.handle(.deviceGone, at: start) == [.rearm] && machine.level == .device)
    #expect(machine.failure?.code == .linkGone)
    #expect(machine.handle(.applied, at: at(1)) == [] && machine.state == .ready && machine.failure == nil)
    var now = at(2)
    var pauses: [Duration] = []
    for _ in 0..<4 {
      #expect(machine.handle(.deviceGone, at: now) == [.tearDown] && machine.level == .nothing)
      #expect(machine.status == "disconnected" && machine.trouble == .linkGone && !machine.isWanted)
      let next = try #require(machine.nextDeadline)
      pauses.append(next - now)
      now = next
      #expect(machine.handle(.tick, at: now) == [.arm])
      for event in [TunnelMachine.Event.prepared, .applied] { _ = machine.handle(event, at: now) }
      #expect(machine.state == .ready)
    }
    #expect(pauses == [1, 2, 4, 8].map { .seconds($0) })
  }

  @Test("the reason of a start that failed stays to be read; that of a device that could not be made goes with it") func failures() {
    var machine = machine(.want(.up))
    #expect(machine.handle(.tick, at: at(15)) == [.tearDown])
    #expect(machine.handle(.want(.ready), at: at(16)) == [.tearDown, .arm])
    for event in [TunnelMachine.Event.prepared, .applied] { _ = machine.handle(event, at: at(17)) }
    #expect(machine.state == .ready && machine.failure?.code == .peerTimeout && machine.trouble == nil)
    _ = machine.handle(.failed(TunnelFailure(.stepFailed, "no")), at: at(18))
    for event in [TunnelMachine.Event.tick, .prepared, .applied] { _ = machine.handle(event, at: at(20)) }
    #expect(machine.state == .ready && machine.failure == nil)
  }

  @Test("wanted from anywhere, on its way or half down, it comes up with sessions of its own") func changesItsMind() {
    var making = TunnelMachine()
    for event in [TunnelMachine.Event.want(.ready), .prepared] { _ = making.handle(event, at: start) }
    #expect(making.handle(.want(.up), at: start) == [.open] && making.level == .link)
    var leaving = machine(.want(.up), .peerAnswered, .applied, .want(.ready))
    #expect(leaving.handle(.want(.up), at: start) == [.renewSessions] && leaving.state.isAwaitingAnswer)
    var waiting = machine(.want(.up))
    #expect(waiting.handle(.want(.ready), at: start) == [.rearm] && waiting.level == .device, "nothing leads into it yet")
    var armed = machine(.want(.armed))
    #expect(armed.level == .link && armed.isSilent)
    for _ in 0..<2 { _ = armed.handle(.applied, at: start) }
    #expect(armed.state == .armed)
    #expect(armed.handle(.want(.ready), at: start) == [] && armed.level == .link)
  }

  @Test("no sequence of events breaks what always holds") func invariants() {
    let events: [TunnelMachine.Event] = [
      .want(.up), .want(.armed), .want(.ready), .want(.ready), .want(.down), .prepared, .prepared, .peerAnswered, .applied, .applied,
      .called, .idle, .failed(TunnelFailure(.stepFailed, "x")), .failed(TunnelFailure(.endpointUnresolved, "x")), .underlayChanged,
      .underlayLost, .slept, .deviceGone, .peerSilent(for: .seconds(24)), .removed, .settingsChanged, .retry, .tick,
    ]
    liveRandomly(5000, by: events) { step in
      let (before, event, machine) = (step.before, step.event, step.machine)
      if machine.target == .ready {
        #expect(!machine.isWanted && !machine.level.hasRoutes && !machine.state.isAwaitingAnswer, "\(before.state) \(event)")
        #expect(["disconnected", "disconnecting"].contains(machine.status), "\(machine.state)")
        let asks: [TunnelMachine.Effect] = [.prepare, .open, .probePeer, .reassert, .renewSessions]
        #expect(!step.effects.contains(where: asks.contains), "it asks nobody: \(before.state) \(event)")
      }
      if machine.level == .device {
        #expect(machine.target == .ready, "the device alone only while just that is wanted: \(before.state) \(event)")
      }
      if before.level.hasRoutes, machine.level == .device { Issue.record("its sessions go before the way into it: \(event)") }
      if case .ready = machine.state { #expect(machine.nextDeadline == nil && machine.isSilent) }
      if step.effects.contains(.open) { #expect(before.level == .device && machine.target == .up) }
    }
  }
}
