/// A reading of the wall clock, in milliseconds since 1970 (UTC, without leap seconds). It steps when the clock is set; `Moment` does not.
package struct Timestamp: Hashable, Sendable, Comparable {
  package let milliseconds: Int64

  package init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Makes a timestamp from `seconds` since 1970, clamped to the range of milliseconds.
  package init(seconds: Int64) {
    let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 1000)
    milliseconds = isTooLarge ? (seconds < 0 ? .min : .max) : product
  }

  /// A timestamp later than any other.
  package static let distantFuture = Timestamp(milliseconds: .max)

  /// Whole seconds since 1970, rounded down.
  package var seconds: Int64 { Self.floored(milliseconds, by: 1000).quotient }

  package static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }

  package static func + (a: Self, b: Duration) -> Timestamp {
    let (sum, isTooLarge) = a.milliseconds.addingReportingOverflow(b.milliseconds)
    return Timestamp(milliseconds: isTooLarge ? (b < .zero ? .min : .max) : sum)
  }

  package static func - (a: Self, b: Duration) -> Timestamp { a + (.zero - b) }

  package static func - (a: Self, b: Self) -> Duration {
    let (difference, isTooLarge) = a.milliseconds.subtractingReportingOverflow(b.milliseconds)
    return .milliseconds(isTooLarge ? (a < b ? .min : .max) : difference)
  }
}

extension Timestamp: CustomStringConvertible {
  /// RFC 3339 in UTC, always with milliseconds: `2026-11-22T14:03:07.412Z`. Times before the year 0 or after the year 9999 are clamped,
  /// because the format cannot express them.
  package var description: String {
    let held = min(max(milliseconds, Self.first), Self.last)
    let (days, time) = Self.floored(held, by: Self.day)
    let date = Self.date(ofDay: days)
    func digits(_ number: Int64, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
    return "\(digits(date.year, 4))-\(digits(date.month, 2))-\(digits(date.day, 2))T"
      + "\(digits(time / 3_600_000, 2)):\(digits(time / 60_000 % 60, 2)):\(digits(time / 1000 % 60, 2)).\(digits(time % 1000, 3))Z"
  }

  /// Parses the form of `description`, and no other.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 24 else { return nil }
    var numbers: [Int64] = []
    var place = 0
    for (length, end) in zip([4, 2, 2, 2, 2, 2, 3], "--T::.Z".utf8) {
      var number: Int64 = 0
      for byte in bytes[place..<(place + length)] {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        number = number * 10 + Int64(byte - UInt8(ascii: "0"))
      }
      place += length
      guard bytes[place] == end else { return nil }
      place += 1
      numbers.append(number)
    }
    let (year, month, day) = (numbers[0], numbers[1], numbers[2])
    let days = Self.days(year, month, day)
    guard numbers[3] < 24, numbers[4] < 60, numbers[5] < 60, Self.date(ofDay: days) == (year, month, day) else { return nil }
    self.init(milliseconds: days * Self.day + numbers[3] * 3_600_000 + numbers[4] * 60_000 + numbers[5] * 1000 + numbers[6])
  }

  private static let day: Int64 = 86_400_000
  private static let first = days(0, 1, 1) * day
  private static let last = days(10_000, 1, 1) * day - 1

  private static func floored(_ number: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  /// Days since 1970 of a date of the Gregorian calendar: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = floored(year, by: 400)
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The inverse, `civil_from_days`.
  private static func date(ofDay days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = floored(days + 719_468, by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }
}
