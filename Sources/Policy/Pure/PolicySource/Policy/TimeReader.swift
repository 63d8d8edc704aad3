import RoamwardCore

/// The partly read keys of `time`.
struct TimeDraft {
  var days: Set<Weekday> = []
  var from: Int?
  var to: Int?
}

let timeKeys = Mapping(
  subject: "`time`", draft: TimeDraft(),
  keys: [
    Key("days", .oneOrMore(.days), "Days and ranges of days; absent: every day.", example: "[mon-fri, sun]") {
      $0.days = Set($1.joined())
    },
    Key("from", .clock(upTo: 1439), "The start, inclusive.", standard: "\"00:00\"", example: "\"08:00\"") { $0.from = $1 },
    Key(
      "to", .clock(upTo: 1440), "The end, exclusive; before `from`: on the next day.", standard: "\"24:00\"",
      example: "\"18:00\""
    ) {
      $0.to = $1
    },
  ])

extension ValueReader where Value == TimeWindow {
  static let timeWindow = timeKeys.reader("days and hours") { draft, node, reading -> TimeWindow? in
    let window = TimeWindow(days: draft.days, from: draft.from ?? 0, to: draft.to ?? 1440)
    if window.from == window.to {
      reading.error(
        "`from` and `to` are the same, so there is no time between them", help: "leave both out for the whole day", at: node.location)
      return nil
    }
    return window
  }
}

private let dayNames = Weekday.allCases.map { "\($0)" }

extension ValueReader where Value == Set<Weekday> {
  /// `sun`, or `mon-fri`; a range may extend over the end of the week.
  fileprivate static let days = ValueReader(
    "a day such as mon, or days such as mon-fri",
    schema: .string(pattern: "^(\(dayNames.joined(separator: "|")))(-(\(dayNames.joined(separator: "|"))))?$"),
    help: "the days are \(alternatives(dayNames))"
  ) { text in
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Weekday(name: $0) }
    guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1] else { return nil }
    var days: Set<Weekday> = [last]
    var day = first
    while day != last {
      days.insert(day)
      day = day.next
    }
    return days
  }
}

extension ValueReader where Value == Int {
  /// Minutes since midnight, from text such as `08:00`.
  fileprivate static func clock(upTo limit: Int) -> ValueReader {
    ValueReader(
      "a time from 00:00 to \(clockText(minute: limit))",
      schema: .string(pattern: "^(([01]?[0-9]|2[0-3]):[0-5][0-9]\(limit == 1440 ? "|24:00" : ""))$"),
      help: "hours and minutes, such as \"08:00\""
    ) { text in
      minute(ofClock: text).flatMap { $0 <= limit ? $0 : nil }
    }
  }
}

extension Weekday {
  fileprivate var next: Weekday { Weekday(rawValue: rawValue % 7 + 1) ?? .mon }
}
