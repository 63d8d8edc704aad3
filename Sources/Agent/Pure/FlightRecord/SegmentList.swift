package import NetworkTypes
package import RoamwardCore

/// The segments of the record, oldest first, and which of them stay.
///
/// A segment holds at most an eighth of the record's size, and is written for at most a day. So the record is never larger than its
/// settings allow, and what is older than its age goes with at most a day's delay after the next entry.
package struct SegmentList: Equatable, Sendable {
  package struct Segment: Equatable, Sendable {
    package var number: Int
    package var begins: Timestamp
    /// The form in which it has the names of networks.
    package var names: HistorySettings.Names
    package var size: Int

    package init(number: Int, begins: Timestamp, names: HistorySettings.Names, size: Int) {
      self.number = number
      self.begins = begins
      self.names = names
      self.size = size
    }
  }

  package static let parts = 8
  private static let longest = Duration.seconds(86_400)

  package private(set) var segments: [Segment]

  package init(_ segments: [Segment] = []) { self.segments = segments.sorted { $0.number < $1.number } }

  package var size: Int { segments.reduce(0) { $0 + $1.size } }

  /// Whether further bytes belong into a new segment.
  package func needsNew(for count: Int, _ settings: HistorySettings, at now: Timestamp) -> Bool {
    guard let last = segments.last else { return true }
    let age = now - last.begins
    return last.size + count > settings.size / Self.parts || age >= min(Self.longest, settings.age) || age < .zero - Self.longest
  }

  /// Adds a segment, and returns it.
  package mutating func begin(_ names: HistorySettings.Names, at now: Timestamp) -> Segment {
    let segment = Segment(number: (segments.last?.number ?? 0) + 1, begins: now, names: names, size: 0)
    segments.append(segment)
    return segment
  }

  package mutating func grow(by count: Int) { if !segments.isEmpty { segments[segments.count - 1].size += count } }

  /// Removes and returns the segments that have to go before `count` bytes are added: all that ended too long ago, and the oldest ones
  /// while the rest is too large. The last segment stays.
  package mutating func removeOutdated(before count: Int, _ settings: HistorySettings, at now: Timestamp) -> [Segment] {
    var removed: [Segment] = []
    while segments.count > 1, segments[1].begins < now - settings.age || size + count > settings.size {
      removed.append(segments.removeFirst())
    }
    return removed
  }

  /// Removes and returns the segments that hold more than the settings allow.
  package mutating func removeRevealing(_ settings: HistorySettings) -> [Segment] {
    let revealing = segments.filter { settings.isMorePrivate(than: $0.names) }
    segments.removeAll { settings.isMorePrivate(than: $0.names) }
    return revealing
  }
}
