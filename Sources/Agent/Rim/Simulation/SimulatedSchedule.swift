internal import NetworkTypes

/// The coming events of a simulated machine.
struct SimulatedSchedule {
  /// The agent's own timer.
  var alarm: (at: Moment, handler: () -> Void)?
  /// The callbacks that run before the clock moves.
  var soon: [() -> Void] = []
  private var arrivals: [(at: Moment, arrival: Arrival)] = []

  /// Whether nothing happens without an external event.
  var isEmpty: Bool { alarm == nil && arrivals.allSatisfy(\.arrival.isGone) }

  /// Adds an answer that arrives at a moment, unless its sender is released before.
  mutating func add(at moment: Moment, unlessGone sender: AnswerInFlight, _ handler: @escaping () -> Void) {
    arrivals.append((moment, Arrival(sender, handler)))
  }

  var nextDue: Moment? {
    mutating get {
      arrivals.removeAll { $0.arrival.isGone }
      return [alarm?.at, arrivals.map(\.at).min()].compactMap { $0 }.min()
    }
  }

  /// Removes what is due: an answer, or else the alarm.
  mutating func takeNext(at now: Moment) -> (() -> Void)? {
    if let next = arrivals.firstIndex(where: { $0.at <= now }) {
      let arrival = arrivals.remove(at: next).arrival
      return arrival.isGone ? {} : arrival.handler
    }
    defer { alarm = nil }
    return alarm?.handler
  }
}

/// An answer that is under way. Who waits for it keeps it, and releasing it cancels it.
final class AnswerInFlight {}

private struct Arrival {
  private weak var sender: AnswerInFlight?
  let handler: () -> Void

  init(_ sender: AnswerInFlight, _ handler: @escaping () -> Void) {
    self.sender = sender
    self.handler = handler
  }

  var isGone: Bool { sender == nil }
}
