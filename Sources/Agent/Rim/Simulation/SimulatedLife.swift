/// The life of one agent in a simulated machine. A dead agent does nothing, and receives nothing.
final class SimulatedLife {
  var isDead = false
  /// It keeps an engine that waits, and that ends with it.
  var isEngineReady = false
}

/// The effect at which the agent dies, as by SIGKILL: each effect has a place before and one after it.
package struct Fuse: Equatable, Sendable {
  /// Counted from 1.
  package var place: Int

  package init(_ place: Int) { self.place = place }
}
