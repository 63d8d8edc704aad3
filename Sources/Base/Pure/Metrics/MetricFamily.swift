/// A metric with its samples, in the terms of OpenMetrics 1.0.
package struct MetricFamily: Sendable {
  package enum Kind: Hashable, Sendable {
    case gauge, counter, info, histogram
  }

  package struct Sample: Sendable {
    package var labels: [(name: String, value: String)]
    package var value: String
    /// Behind the family's name.
    fileprivate var suffix: String
  }

  /// Without the suffix of its samples (`_total`, `_info`).
  package let name: String
  package let kind: Kind
  /// One sentence.
  package let help: String
  package private(set) var samples: [Sample] = []

  package init(_ name: String, _ kind: Kind, _ help: String) {
    self.name = name
    self.kind = kind
    self.help = help
  }

  package mutating func add(_ value: Int64, _ labels: KeyValuePairs<String, String> = [:]) {
    samples.append(Sample(labels: labels.map { ($0.key, $0.value) }, value: "\(value)", suffix: suffix))
  }

  /// Adds a moment: seconds since 1970, with milliseconds.
  package mutating func add(milliseconds: Int64, _ labels: KeyValuePairs<String, String> = [:]) {
    samples.append(Sample(labels: labels.map { ($0.key, $0.value) }, value: Self.seconds(milliseconds), suffix: suffix))
  }

  /// Adds durations that were counted in buckets.
  package mutating func add(_ durations: DurationCounts) {
    var sum: Int64 = 0
    for (i, limit) in DurationCounts.limits.enumerated() {
      sum += durations.counts[i]
      samples.append(Sample(labels: [("le", Self.canonical(limit))], value: "\(sum)", suffix: "_bucket"))
    }
    let all = durations.counts.reduce(0, +)
    samples.append(Sample(labels: [("le", "+Inf")], value: "\(all)", suffix: "_bucket"))
    samples.append(Sample(labels: [], value: Self.seconds(durations.milliseconds), suffix: "_sum"))
    samples.append(Sample(labels: [], value: "\(all)", suffix: "_count"))
  }

  /// The shortest form, with a digit behind the point.
  private static func canonical(_ milliseconds: Int64) -> String {
    var text = seconds(milliseconds)
    while text.hasSuffix("0"), !text.hasSuffix(".0") { text.removeLast() }
    return text
  }

  private static func seconds(_ milliseconds: Int64) -> String {
    "\(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst())"
  }

  fileprivate var suffix: String {
    switch kind {
    case .gauge, .histogram: ""
    case .counter: "_total"
    case .info: "_info"
    }
  }
}

/// A text format of metrics.
package enum MetricsFormat: String, CaseIterable, Sendable {
  /// OpenMetrics 1.0: what Prometheus prefers.
  case openMetrics = "openmetrics"
  /// The text format of Prometheus, version 0.0.4: the only one that the textfile collector of node_exporter and `promtool` read.
  case prometheus

  /// A family without samples is left out.
  package func text(_ families: [MetricFamily]) -> String {
    families.filter { !$0.samples.isEmpty }.map(text).joined() + (self == .openMetrics ? "# EOF\n" : "")
  }

  private func text(_ family: MetricFamily) -> String {
    let name = family.name + (self == .prometheus ? family.suffix : "")
    let head = "# HELP \(name) \(escapedHelp(family.help))\n# TYPE \(name) \(word(family.kind))\n"
    return head
      + family.samples.map { one in
        let labels = one.labels.map { "\($0.name)=\"\(Self.escapedValue($0.value))\"" }.joined(separator: ",")
        return "\(family.name)\(one.suffix)\(labels.isEmpty ? "" : "{\(labels)}") \(one.value)\n"
      }.joined()
  }

  private func word(_ kind: MetricFamily.Kind) -> String {
    switch kind {
    case .gauge: "gauge"
    case .counter: "counter"
    case .histogram: "histogram"
    case .info: self == .openMetrics ? "info" : "gauge"
    }
  }

  private func escapedHelp(_ text: String) -> String { Self.replacing(text, quotes: self == .openMetrics) }

  private static func escapedValue(_ text: String) -> String { replacing(text, quotes: true) }

  private static func replacing(_ text: String, quotes: Bool) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result.append(contentsOf: "\\n".unicodeScalars)
      case "\\": result.append(contentsOf: "\\\\".unicodeScalars)
      case "\"" where quotes: result.append(contentsOf: "\\\"".unicodeScalars)
      default: result.append(scalar)
      }
    }
    return String(result)
  }
}
