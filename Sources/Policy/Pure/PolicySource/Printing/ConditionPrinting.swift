import NetworkTypes
import RoamwardCore

extension PolicyPrinter {
  /// A condition as the keys of a match; empty if it always matches.
  static func criteria(of condition: Condition) -> YAMLMapping {
    var parts: [Condition] = []
    flatten(condition, into: &parts)
    var mapping = YAMLMapping()
    var keys: Set<String> = []
    // A mapping has each key only once. The remaining conditions are negated and written under one `not`, so that key has to be free.
    let isCrowded = Set(parts.map(\.key)).count < parts.count
    var rest: [Condition] = []
    for part in parts {
      if isCrowded, part.key == "not" || !keys.insert(part.key).inserted {
        rest.append(part)
      } else {
        mapping.add(part.key, value(of: part))
      }
    }
    if !rest.isEmpty { mapping.add("not", .mapping(YAMLMapping([("any-of", .list(rest.map { .mapping(negation(of: $0)) }))]))) }
    return mapping
  }

  private static func negation(of condition: Condition) -> YAMLMapping {
    if case .not(let part) = condition { return criteria(of: part) }
    return YAMLMapping([("not", .mapping(criteria(of: condition)))])
  }

  /// The conditions that all have to match. Those that always match are left out. An empty list, which never matches, becomes `never`.
  private static func flatten(_ condition: Condition, into parts: inout [Condition]) {
    switch condition {
    case .all(let inner): for part in inner { flatten(part, into: &parts) }
    case .any([]), .network([]): break
    case .criterion(let criterion) where criterion.written == .list([]): parts.append(.never)
    default: parts.append(condition)
    }
  }

  private static func value(of condition: Condition) -> YAMLValue {
    switch condition {
    case .all: return .mapping(criteria(of: condition))
    case .any(let parts): return .list(parts.map { .mapping(criteria(of: $0)) })
    case .not(let part):
      let inner = criteria(of: part)
      // An empty `not` is ignored; a `not` of an empty alternative never matches.
      return .mapping(inner.isEmpty ? YAMLMapping([("any-of", .list([.mapping(YAMLMapping())]))]) : inner)
    case .network(let names): return one(names)
    case .criterion(let criterion):
      switch criterion.written {
      case .list(let texts): return one(condition.wanted(of: FactTable.ssid)?.map(printable) ?? texts)
      case .word(let word): return .word(word)
      case .text(let text): return .text(text)
      case .mapping: return mapping(of: condition)
      }
    }
  }

  /// The mapping of keys with a special syntax.
  private static func mapping(of condition: Condition) -> YAMLValue {
    if let servers = condition.wanted(of: FactTable.dnsServer) { return .mapping(YAMLMapping([("any", one(servers.patterns))])) }
    if let probe = condition.wanted(of: FactTable.probe) { return yaml(of: probe) }
    return yaml(of: condition.wanted(of: FactTable.time) ?? TimeWindow())
  }

  private static func one(_ items: [some CustomStringConvertible]) -> YAMLValue { .oneOrMore(items.map { .text($0.description) }) }

  /// Only the URL if there are no further keys.
  static func yaml(of probe: Probe) -> YAMLValue {
    let plain = Probe(url: probe.url)
    if probe == plain { return .text(probe.url) }
    var mapping = YAMLMapping([("url", .text(probe.url))])
    if probe.status != plain.status { mapping.add("status", .word(String(probe.status))) }
    if !probe.pins.isEmpty { mapping.add("pin", one(probe.pins)) }
    if probe.timeout != plain.timeout { mapping.add("timeout", duration(probe.timeout)) }
    return .mapping(mapping)
  }

  private static func yaml(of window: TimeWindow) -> YAMLValue {
    var mapping = YAMLMapping()
    if !window.days.isEmpty { mapping.add("days", one(dayRanges(window.days))) }
    // An empty time window would be ignored.
    if window.from != 0 || mapping.isEmpty && window.to == 1440 { mapping.add("from", .text(clockText(minute: window.from))) }
    if window.to != 1440 { mapping.add("to", .text(clockText(minute: window.to))) }
    return .mapping(mapping)
  }

  /// `mon-fri`, `sun`: three or more days in sequence are written as a range.
  private static func dayRanges(_ days: Set<Weekday>) -> [String] {
    var runs: [[Weekday]] = []
    for day in days.sorted() {
      if let last = runs.last?.last, last.rawValue + 1 == day.rawValue {
        runs[runs.count - 1].append(day)
      } else {
        runs.append([day])
      }
    }
    return runs.flatMap { run -> [String] in
      guard run.count > 2, let first = run.first, let last = run.last else { return run.map { "\($0)" } }
      return ["\(first)-\(last)"]
    }
  }

  /// An SSID is written as bytes if an editor would not show its text, or a file may not contain it.
  private static func printable(_ ssid: SSID) -> String {
    let text = ssid.description
    return PolicySource.printable(text) == text
      ? text
      : "hex:"
        + ssid.bytes.map { byte in
          let digits = String(byte, radix: 16)
          return digits.count == 1 ? "0" + digits : digits
        }.joined()
  }
}
