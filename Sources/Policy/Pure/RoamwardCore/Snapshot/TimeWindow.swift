internal import NetworkTypes

/// A day of the week, Monday first (ISO 8601).
package enum Weekday: Int, Equatable, Sendable, CaseIterable, Comparable, CustomStringConvertible {
  case mon = 1, tue, wed, thu, fri, sat, sun

  package var description: String { ["mon", "tue", "wed", "thu", "fri", "sat", "sun"][rawValue - 1] }

  package var previous: Weekday { Weekday(rawValue: rawValue == 1 ? 7 : rawValue - 1) ?? .sun }

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// A moment of the week in wall-clock time.
package struct LocalTime: Hashable, Sendable {
  package var day: Weekday
  /// Since midnight: 0 to 86,399.
  package var second: Int

  package init(day: Weekday, second: Int) {
    self.day = day
    self.second = second
  }
}

extension LocalTime: LosslessStringConvertible {
  /// Parses `mon 09:30`, with seconds or without.
  package init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: true)
    guard words.count == 2, let day = Weekday(name: words[0].lowercased()) else { return nil }
    let parts = words[1].split(separator: ":", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let minute = minute(ofClock: parts[..<2].joined(separator: ":")), minute < 1440 else { return nil }
    var second = 0
    if parts.count == 3 {
      guard parts[2].utf8.count == 2, let number = twoDigits(parts[2]), number < 60 else { return nil }
      second = number
    }
    self.init(day: day, second: minute * 60 + second)
  }

  /// `mon 09:30`.
  package var description: String { "\(day) \(clockText(minute: second / 60))" }

  /// The same, with seconds if they are not 0.
  var textForFiles: String {
    let second = second % 60
    return description + (second == 0 ? "" : second < 10 ? ":0\(second)" : ":\(second)")
  }
}

extension Weekday {
  /// Parses the three-letter name.
  package init?(name: some StringProtocol) {
    guard let day = Weekday.allCases.first(where: { "\($0)" == name }) else { return nil }
    self = day
  }
}

/// Minutes since midnight of `8:00` and `08:00`; up to `24:00`.
package func minute(ofClock text: some StringProtocol) -> Int? {
  let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { twoDigits($0) }
  guard parts.count == 2, let hour = parts[0], let minute = parts[1], text.utf8.suffix(3).first == UInt8(ascii: ":"), text.utf8.count <= 5,
    minute < 60, hour * 60 + minute <= 1440
  else { return nil }
  return hour * 60 + minute
}

/// Parses one or two digits, without a sign.
private func twoDigits(_ text: some StringProtocol) -> Int? {
  guard (1...2).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
  return Int(text)
}

/// Hours of some days, by local time. A window that ends before it begins continues into the next day, and belongs to the day on which it
/// began.
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

  /// Seconds until the next edge of the window's clock times, on any day: 1 to 86,400.
  package func secondsToEdge(after time: LocalTime) -> Int {
    [from, to].map { edge in
      let wait = (edge * 60 - time.second) % 86_400
      return wait <= 0 ? wait + 86_400 : wait
    }.min() ?? 86_400
  }
}

/// The machine's power source.
package enum PowerSource: String, Equatable, Sendable, CaseIterable {
  /// Mains, or no battery.
  case ac
  /// A battery that discharges.
  case battery
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
