import NetworkTypes
import RoamwardCore
import SeededRandom
import Testing

/// One event in a random life of a tunnel's machine.
struct MachineStep {
  let before: TunnelMachine
  let event: TunnelMachine.Event
  let effects: [TunnelMachine.Effect]
  let machine: TunnelMachine
  /// Whether a life begins with it.
  let isFirst: Bool
}

/// Lives of 60 events each, up to 20 seconds apart. In each of them, only what was started is in the kernel; `check` has the rest.
func liveRandomly(_ lives: Int, by events: [TunnelMachine.Event], _ check: (MachineStep) -> Void) {
  for seed in UInt64(1)...UInt64(lives) {
    var random = SplitMix64(seed: seed)
    var machine = TunnelMachine()
    var now = Moment(nanoseconds: 0)
    var isStarted = false
    for number in 0..<60 {
      now = now + .seconds(Int64.random(in: 0...20, using: &random))
      let event = events.randomElement(using: &random) ?? .tick
      let before = machine
      let effects = machine.handle(event, at: now)
      for effect in effects {
        if [.prepare, .arm].contains(effect) { isStarted = true }
        if effect == .tearDown { isStarted = false }
      }
      #expect(machine.level == .nothing || isStarted, "in the kernel only what was started: seed \(seed)")
      check(MachineStep(before: before, event: event, effects: effects, machine: machine, isFirst: number == 0))
    }
  }
}
