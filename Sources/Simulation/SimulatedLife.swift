/// One agent's time in a simulated machine. Dead, it does nothing any more, and hears of nothing.
final class SimulatedLife {
  var isDead = false
}

/// Lets the agent die, as by SIGKILL, at one of its effects: of each there is a place before and one after.
package struct Fuse: Hashable, Sendable {
  /// Counted from 1.
  package var place: Int

  package init(_ place: Int) { self.place = place }
}
