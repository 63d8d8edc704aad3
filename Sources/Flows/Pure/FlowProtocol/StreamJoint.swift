/// Two streams whose bytes go from each to the other, as a machine: it pauses the one whose other side is full, and passes an end on in its
/// own direction, so that a stream may be half closed. It keeps no bytes.
package struct StreamJoint: Sendable {
  package enum Side: Hashable, Sendable, CaseIterable {
    case client
    case target

    package var other: Side { self == .client ? .target : .client }
  }

  package enum Event: Hashable, Sendable {
    /// Bytes came from a side.
    case data(Side, [UInt8])
    /// A side has not taken all bytes at once, and keeps the rest.
    case congested(Side)
    /// A side has taken all bytes.
    case drained(Side)
    /// A side sends no more.
    case ended(Side)
    /// A side is broken off.
    case broken(Side)
  }

  package enum Action: Hashable, Sendable {
    case send(Side, [UInt8])
    /// Read nothing from a side for now.
    case pause(Side)
    case resume(Side)
    /// Send no more to a side, after what it keeps.
    case finish(Side)
    /// Close both.
    case close
  }

  /// A direction, by the side that it comes from.
  private enum Direction: Hashable, Sendable {
    case flowing
    /// The other side is full.
    case paused
    /// It has ended, and the other side keeps bytes of it.
    case ending
    case over
  }

  private var fromClient = Direction.flowing
  private var fromTarget = Direction.flowing
  private var isClosed = false

  package init() {}

  /// Whether nothing is read from a side for now.
  package func isPaused(_ side: Side) -> Bool { self[side] == .paused }

  package mutating func take(_ event: Event) -> [Action] {
    if isClosed { return [] }
    switch event {
    case .data(let side, let bytes):
      // A paused side may have bytes under way.
      return [.flowing, .paused].contains(self[side]) ? [.send(side.other, bytes)] : []
    case .congested(let side):
      guard self[side.other] == .flowing else { return [] }
      self[side.other] = .paused
      return [.pause(side.other)]
    case .drained(let side):
      switch self[side.other] {
      case .paused:
        self[side.other] = .flowing
        return [.resume(side.other)]
      case .ending:
        self[side.other] = .over
        return closing()
      case .flowing, .over: return []
      }
    case .ended(let side):
      switch self[side] {
      case .flowing: self[side] = .over
      case .paused: self[side] = .ending
      case .ending, .over: return []
      }
      return [.finish(side.other)] + closing()
    case .broken:
      isClosed = true
      return [.close]
    }
  }

  private mutating func closing() -> [Action] {
    guard fromClient == .over, fromTarget == .over else { return [] }
    isClosed = true
    return [.close]
  }

  private subscript(side: Side) -> Direction {
    get { side == .client ? fromClient : fromTarget }
    set { if side == .client { fromClient = newValue } else { fromTarget = newValue } }
  }
}
