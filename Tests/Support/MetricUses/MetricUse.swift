/// Metrics in a text format of Prometheus, with the values of their labels.
package struct ExposedMetrics {
  /// By the name of a sample: its labels with their values.
  private var labels: [String: [String: Set<String>]] = [:]

  package init(_ text: String) {
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let name = String(line.prefix { Self.isNamed($0) })
      var found = labels[name] ?? [:]
      for matcher in MetricUse(name, line.dropFirst(name.count)).matchers { found[matcher.label, default: []].insert(matcher.value) }
      labels[name] = found
    }
  }

  package var names: Set<String> { Set(labels.keys) }

  /// The metrics and labels that a text in PromQL asks for, and that are not there.
  package func missing(in text: String) -> [String] {
    MetricUse.all(in: text).flatMap { use -> [String] in
      guard let known = labels[use.name] else { return [use.name] }
      return use.matchers.flatMap { matcher -> [String] in
        // A target's own, which Prometheus adds.
        if ["job", "instance"].contains(matcher.label) { return [] }
        guard let values = known[matcher.label] else { return ["\(use.name){\(matcher.label)}"] }
        return matcher.value.split(separator: "|").map(String.init).filter { !values.contains($0) }.map {
          "\(use.name){\(matcher.label)=\"\($0)\"}"
        }
      }
    }
  }

  /// The labels of the metrics that a text in PromQL uses.
  package func labels(in text: String) -> Set<String> {
    MetricUse.all(in: text).reduce(into: ["job", "instance"]) { $0.formUnion(labels[$1.name]?.keys.map { $0 } ?? []) }
  }

  fileprivate static func isNamed(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || character == "_")
  }
}

/// One use of a metric of a gateway in PromQL.
package struct MetricUse {
  package struct Matcher {
    package var label: String
    package var value: String
  }

  package let name: String
  package private(set) var matchers: [Matcher] = []

  /// `rest`: the text after the name, with matchers in braces, if any.
  fileprivate init(_ name: String, _ rest: Substring) {
    self.name = name
    guard rest.first == "{" else { return }
    var rest = rest.dropFirst()
    while true {
      rest = rest.drop { " ,\n".contains($0) }
      let label = rest.prefix { ExposedMetrics.isNamed($0) }
      let operation = rest.dropFirst(label.count).prefix { "=~!".contains($0) }
      rest = rest.dropFirst(label.count + operation.count)
      guard !label.isEmpty, !operation.isEmpty, rest.first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") else { return }
      matchers.append(Matcher(label: String(label), value: String(rest[rest.index(after: rest.startIndex)..<end])))
      rest = rest[rest.index(after: end)...]
    }
  }

  /// All uses in a text.
  package static func all(in text: String) -> [MetricUse] {
    let prefix = "roamward_gateway_"
    var uses: [MetricUse] = []
    var rest = text[...]
    while let start = rest.firstRange(of: prefix) {
      let name = rest[start.lowerBound...].prefix { ExposedMetrics.isNamed($0) }
      rest = rest[name.endIndex...]
      uses.append(MetricUse(String(name), rest))
    }
    return uses
  }

  /// The labels of `by`, `on` and `ignoring` in PromQL.
  package static func groupedLabels(in text: String) -> Set<String> {
    var labels = Set<String>()
    for word in ["by (", "on (", "ignoring ("] {
      for part in text.split(separator: word, omittingEmptySubsequences: false).dropFirst() {
        labels.formUnion(part.prefix { $0 != ")" }.split(separator: ",").map { $0.filter { ExposedMetrics.isNamed($0) } })
      }
    }
    return labels
  }
}
