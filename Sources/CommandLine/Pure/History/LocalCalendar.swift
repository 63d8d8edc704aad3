package import NetworkTypes
import RoamwardCore

/// A date and a time of day.
package struct CivilTime: Equatable, Sendable {
  package var year: Int
  package var month: Int
  package var day: Int
  package var hour: Int
  package var minute: Int
  package var second: Int

  package init(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
    self.year = year
    self.month = month
    self.day = day
    self.hour = hour
    self.minute = minute
    self.second = second
  }

  /// `2026-03-01 14:03:20`.
  package var text: String { "\(digits(year, 4))-\(digits(month))-\(digits(day)) \(clock)" }

  /// `14:03:20`.
  package var clock: String { "\(digits(hour)):\(digits(minute)):\(digits(second))" }
}

func digits(_ number: Int, _ count: Int = 2) -> String {
  let text = String(number)
  return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
}

/// Converts between wall-clock time and local time.
package struct LocalCalendar: Sendable {
  package var civil: @Sendable (Timestamp) -> CivilTime
  /// Days beyond the end of a month, and before the first, are those of the months beside it.
  package var timestamp: @Sendable (CivilTime) -> Timestamp

  package init(civil: @escaping @Sendable (Timestamp) -> CivilTime, timestamp: @escaping @Sendable (CivilTime) -> Timestamp) {
    self.civil = civil
    self.timestamp = timestamp
  }

  package func text(_ time: Timestamp) -> String { civil(time).text }

  /// The end of a time for people: without the date, if it is that of the beginning.
  package func text(_ time: Timestamp, after begin: Timestamp) -> String {
    let (a, b) = (civil(begin), civil(time))
    return (a.year, a.month, a.day) == (b.year, b.month, b.day) ? b.clock : b.text
  }
}

/// A moment of the past as people write it.
package struct PastTime: Equatable, Sendable {
  /// The forms, for messages.
  package static let forms = "14:05, \"yesterday 14:05\", \"mon 14:05\", \"2026-11-22 14:05\", \"90m ago\" or 14d"

  package let time: Timestamp

  /// `nil`: the text has none of the forms. A length such as `14d` is so long before `now`; a time of day without a day is the last one.
  package init?(_ text: String, now: Timestamp, _ calendar: LocalCalendar) {
    let words = text.lowercased().split(separator: " ", omittingEmptySubsequences: true).map(String.init)
    guard let first = words.first, let last = words.last, words.count <= 2 else { return nil }
    if words == ["now"] {
      time = now
      return
    }
    if words.count == 1 || last == "ago", let length = PastTime.length(first) {
      time = now - length
      return
    }
    if words.count == 1, let exact = Timestamp(text.uppercased()) {
      time = exact
      return
    }
    guard let day = Day(first) ?? (words.count == 1 ? .last : nil) else { return nil }
    let isDayAlone = words.count == 1 && day != .last
    guard let second = isDayAlone ? 0 : PastTime.second(ofClock: last) else { return nil }
    time = day.time(second, before: now, calendar)
  }

  /// `90s`, `5m`, `2h`, `14d`, `2w`.
  package static func length(_ text: String) -> Duration? {
    let units: [(Character, Int)] = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 7 * 86_400)]
    guard let unit = units.first(where: { text.last == $0.0 }), let count = Int(text.dropLast()), (1...1_000_000).contains(count),
      text.utf8.first.map({ (48...57).contains($0) }) ?? false
    else { return nil }
    return .seconds(count * unit.1)
  }

  /// Seconds since midnight of `14:05` or `14:05:30`.
  private static func second(ofClock text: String) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count),
      parts.allSatisfy({ (1...2).contains($0.utf8.count) && $0.utf8.allSatisfy { (48...57).contains($0) } })
    else { return nil }
    let numbers = parts.compactMap { Int($0) } + [0]
    guard numbers[0] < 24, numbers[1] < 60, numbers[2] < 60 else { return nil }
    return numbers[0] * 3600 + numbers[1] * 60 + numbers[2]
  }

  private enum Day: Equatable {
    /// So many days ago.
    case ago(Int)
    case week(Weekday)
    case date(Int, Int, Int)
    /// Today, or yesterday if the time of day is still to come.
    case last

    init?(_ word: String) {
      switch word {
      case "today": self = .ago(0)
      case "yesterday": self = .ago(1)
      default:
        if let day = Weekday(name: word.prefix(3)), "monday tuesday wednesday thursday friday saturday sunday".contains(word) {
          self = .week(day)
          return
        }
        let parts = word.split(separator: "-", omittingEmptySubsequences: false).compactMap { Int($0) }
        guard parts.count == 3, word.utf8.count == 10, (1970...9999).contains(parts[0]), (1...12).contains(parts[1]),
          (1...31).contains(parts[2])
        else { return nil }
        self = .date(parts[0], parts[1], parts[2])
      }
    }

    func time(_ second: Int, before now: Timestamp, _ calendar: LocalCalendar) -> Timestamp {
      let today = calendar.civil(now)
      func at(_ days: Int) -> Timestamp {
        calendar.timestamp(
          CivilTime(
            year: today.year, month: today.month, day: today.day - days, hour: second / 3600, minute: second / 60 % 60, second: second % 60)
        )
      }
      switch self {
      case .ago(let days): return at(days)
      case .last: return at(0) <= now ? at(0) : at(1)
      case .week(let day):
        let distance = (calendar.weekday(of: now).rawValue - day.rawValue + 7) % 7
        return at(distance) <= now ? at(distance) : at(distance + 7)
      case .date(let year, let month, let day):
        return calendar.timestamp(
          CivilTime(year: year, month: month, day: day, hour: second / 3600, minute: second / 60 % 60, second: second % 60))
      }
    }
  }
}

extension LocalCalendar {
  /// By Zeller's congruence, with Monday as 1.
  func weekday(of time: Timestamp) -> Weekday {
    let date = civil(time)
    let month = date.month < 3 ? date.month + 12 : date.month
    let year = date.month < 3 ? date.year - 1 : date.year
    let number = (date.day + 13 * (month + 1) / 5 + year + year / 4 - year / 100 + year / 400 + 5) % 7
    return Weekday(rawValue: number + 1) ?? .mon
  }
}
