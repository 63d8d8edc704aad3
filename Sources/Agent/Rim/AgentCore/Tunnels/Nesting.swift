/// The place of a tunnel among tunnels that go through each other.
struct Nesting {
  /// The tunnel that it goes through; an open one, if there is none.
  enum Outer: Equatable {
    /// The last news of it was taken in.
    case followed(isOpen: Bool)
    /// The tunnel is wanted, is down, and waits until the outer one is connected.
    case awaited
  }

  private(set) var outer = Outer.followed(isOpen: true)
  /// Whether it is to go down as soon as no tunnel goes through it.
  private(set) var isToEndAfterInner = false

  var awaitsOuter: Bool { outer == .awaited }

  /// Takes a wish. A tunnel that is due waits for the outer one, unless it runs already. `isOpen`: the outer one is connected.
  mutating func want(isDue: Bool, isRunning: Bool, isOpen: Bool) {
    isToEndAfterInner = false
    if !isRunning {
      outer = isDue && !isOpen ? .awaited : .followed(isOpen: isOpen)
    } else if awaitsOuter {
      outer = .followed(isOpen: false)
    }
  }

  mutating func endAfterInner() { isToEndAfterInner = true }

  /// Takes in the outer tunnel as it is now. Returns whether it has opened or closed since, below a tunnel that runs.
  mutating func take(isOpen: Bool, isRunning: Bool) -> Outer? {
    guard case .followed(let wasOpen) = outer else { return nil }
    outer = .followed(isOpen: isOpen)
    return isRunning && isOpen != wasOpen ? outer : nil
  }

  /// Whether the tunnel can carry nothing, because the outer one does not.
  func isOuterLost(isRunning: Bool) -> Bool { awaitsOuter || isRunning && outer == .followed(isOpen: false) }

  /// Whether it has not taken in a change of the outer one yet.
  func isBehind(isOpen: Bool, isRunning: Bool) -> Bool {
    switch outer {
    case .awaited: isOpen
    case .followed(let wasOpen): isRunning && isOpen != wasOpen
    }
  }
}
