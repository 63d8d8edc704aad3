/// A duration for people: `500 ms`, `1.5 s`, `4 s`, `12 min`, `3 h 5 min`, `2 d 4 h`. Negative durations count as zero.
package func text(for duration: Duration) -> String {
  let (seconds, attoseconds) = max(.zero, duration).components
  let milliseconds = attoseconds / 1_000_000_000_000_000
  switch seconds {
  case 0 where milliseconds > 0: return "\(milliseconds) ms"
  case ..<10 where milliseconds >= 100: return "\(seconds).\(milliseconds / 100) s"
  case ..<60: return "\(seconds) s"
  case ..<3600: return "\(seconds / 60) min"
  case ..<86_400: return pair(seconds / 3600, "h", seconds % 3600 / 60, "min")
  default: return pair(seconds / 86_400, "d", seconds % 86_400 / 3600, "h")
  }
}

private func pair(_ large: Int64, _ unit: String, _ small: Int64, _ smallUnit: String) -> String {
  "\(large) \(unit)" + (small == 0 ? "" : " \(small) \(smallUnit)")
}
