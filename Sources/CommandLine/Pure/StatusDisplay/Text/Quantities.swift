internal import RoamwardCore

/// `4 s`, `12 min`, `3 h 5 min`, `2 d 4 h`.
package func age(_ duration: Duration) -> String { text(for: .seconds(duration.components.seconds)) }

/// `just now`, or `for 1 min`.
package func lasting(_ duration: Duration) -> String { duration < .seconds(1) ? "just now" : "for \(age(duration))" }

/// `just now`, or `1 min ago`.
package func ago(_ duration: Duration) -> String { duration < .seconds(1) ? "just now" : "\(age(duration)) ago" }

/// `1.5 MiB`.
package func size(_ bytes: Int64) -> String {
  var value = Double(bytes)
  for unit in ["B", "KiB", "MiB", "GiB"] {
    if value < 1024 || unit == "GiB" { return unit == "B" ? "\(bytes) B" : "\((value * 10).rounded() / 10) \(unit)" }
    value /= 1024
  }
  return "\(bytes) B"
}

/// The first words of a list, and how many follow: `10.0.0.0/8, 10.77.0.0/16 and 98 more`.
func shortened(_ words: [String], count: Int, limit: Int = 6) -> String {
  let shown = words.prefix(limit).joined(separator: ", ")
  return count > limit ? "\(shown) and \(count - limit) more" : shown
}
