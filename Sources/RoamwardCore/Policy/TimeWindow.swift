/// A day of the week, Monday first (ISO 8601).
package enum Weekday: Int, Hashable, Sendable, CaseIterable, Comparable {
  case mon = 1, tue, wed, thu, fri, sat, sun

  package var previous: Weekday { Weekday(rawValue: rawValue == 1 ? 7 : rawValue - 1) ?? .sun }

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A moment of the week by the clock on the wall.
package struct LocalTime: Hashable, Sendable {
  package var day: Weekday
  /// Since midnight: 0 to 86,399.
  package var second: Int

  package init(day: Weekday, second: Int) {
    self.day = day
    self.second = second
  }
}

/// Hours of some days, by local time. A window that ends before it begins goes on into the next day, and belongs to the day it began on.
package struct TimeWindow: Hashable, Sendable {
  /// Empty: every day.
  package var days: Set<Weekday>
  /// Minutes since midnight: 0 to 1440; `to` is not part of the window.
  package var from: Int
  package var to: Int

  package init(days: Set<Weekday> = [], from: Int = 0, to: Int = 1440) {
    self.days = days
    self.from = from
    self.to = to
  }

  package func contains(_ time: LocalTime) -> Bool {
    let minute = time.second / 60
    func isOn(_ day: Weekday) -> Bool { days.isEmpty || days.contains(day) }
    if from < to { return isOn(time.day) && minute >= from && minute < to }
    return isOn(time.day) && minute >= from || isOn(time.day.previous) && minute < to
  }

  /// Seconds until the next edge of the window's clock times (whether or not its days make it one): 1 to 86,400.
  package func secondsToEdge(after time: LocalTime) -> Int {
    [from, to].map { edge in
      let wait = (edge * 60 - time.second) % 86_400
      return wait <= 0 ? wait + 86_400 : wait
    }.min() ?? 86_400
  }
}

package enum PowerSource: String, Hashable, Sendable, CaseIterable {
  case ac, battery
}

extension TimeWindow: CustomStringConvertible {
  /// `mon, tue 08:00-18:00`.
  package var description: String {
    let hours = "\(clockText(minute: from))-\(clockText(minute: to))"
    return days.isEmpty ? hours : "\(days.sorted().map { "\($0)" }.joined(separator: ", ")) \(hours)"
  }
}

/// `08:05`.
package func clockText(minute: Int) -> String {
  func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
  return "\(two(minute / 60)):\(two(minute % 60))"
}
