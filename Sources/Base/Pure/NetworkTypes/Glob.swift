/// A shell pattern over bytes: `*` any run, `?` any one byte; everything else stands for itself.
///
/// Takes time proportional to pattern times text at worst, whatever the pattern: there is no backtracking beyond the last star.
package struct Glob: Hashable, Sendable, LosslessStringConvertible {
  package let description: String

  package init(_ pattern: String) { description = pattern }

  package func matches(_ text: String) -> Bool { matches(bytes: Array(text.utf8)) }

  package func matches(bytes text: [UInt8]) -> Bool {
    let pattern = Array(description.utf8)
    var p = 0
    var t = 0
    var star: (pattern: Int, text: Int)?
    while t < text.count {
      if p < pattern.count, pattern[p] == UInt8(ascii: "*") {
        star = (p, t)
        p += 1
      } else if p < pattern.count, pattern[p] == UInt8(ascii: "?") || pattern[p] == text[t] {
        p += 1
        t += 1
      } else if let last = star {
        p = last.pattern + 1
        t = last.text + 1
        star = (last.pattern, t)
      } else {
        return false
      }
    }
    return pattern[p...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
