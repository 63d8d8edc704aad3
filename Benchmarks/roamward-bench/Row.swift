/// A line of the table. In every ratio less is better.
struct Row: CustomStringConvertible {
  var what: String
  var ours: String
  var peer: String
  var ratio: Double
  var bar: String
  var remark = ""

  var description: String { [what, ours, peer, ratio.text(digits: 2), bar, remark].joined(separator: "\t") }
}

/// A series of one measurement, in the order in which it was taken.
struct Series {
  var values: [Double] = []

  /// The middle value, or the mean of the two in the middle.
  var median: Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return .nan }
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }

  /// The median, and between which quartiles half of the values lie: the width of the noise.
  var summary: String {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return "none" }
    return "\(median.text(digits: 1)) ms (\(sorted[sorted.count / 4].text(digits: 1)) to \(sorted[sorted.count * 3 / 4].text(digits: 1)))"
  }
}

extension Double {
  /// With so many digits behind the point.
  func text(digits: Int) -> String {
    guard isFinite else { return "?" }
    let scale = (0..<digits).reduce(1) { scale, _ in scale * 10 }
    let whole = Int((magnitude * Double(scale)).rounded())
    let sign = self < 0 && whole != 0 ? "-" : ""
    guard digits > 0 else { return "\(sign)\(whole)" }
    let fraction = String(whole % scale)
    return "\(sign)\(whole / scale).\(String(repeating: "0", count: digits - fraction.count))\(fraction)"
  }
}
