import NetworkTypes

/// A pattern over bytes, split into tokens that match one byte or any run of bytes.
enum PatternToken: Equatable {
  case byte(UInt8)
  case anyByte
  case anyRun
}

extension Glob {
  var tokens: [PatternToken] {
    description.utf8.map { $0 == UInt8(ascii: "*") ? .anyRun : $0 == UInt8(ascii: "?") ? .anyByte : .byte($0) }
  }
}

/// The strings that a policy's patterns can distinguish: one string for every combination of patterns that some string can match.
///
/// All patterns are run at once, as one automaton, over shorter strings before longer ones. `nil` if there are too many states.
func stringsToldApart(
  by patterns: [[PatternToken]], lengths: ClosedRange<Int>, isAllowed: (UInt8) -> Bool, isForbidden: ([UInt8]) -> Bool = { _ in false }
) -> [[UInt8]]? {
  let automaton = PatternAutomaton(patterns)
  let alphabet = automaton.alphabet(isAllowed)
  var strings: [[UInt8]] = []
  var verdicts = Set<[Bool]>()
  var seen = Set<[UInt64]>()
  var front: [(state: [UInt64], text: [UInt8])] = [(automaton.start, [])]
  var work = 0
  for length in 0...lengths.upperBound {
    var next: [(state: [UInt64], text: [UInt8])] = []
    for (state, text) in front {
      if length >= lengths.lowerBound, !isForbidden(text), verdicts.insert(automaton.verdict(state)).inserted { strings.append(text) }
      guard length < lengths.upperBound else { continue }
      for byte in alphabet {
        work += automaton.size
        guard work < 20_000_000 else { return nil }
        let (state, longer) = (automaton.step(state, byte), text + [byte])
        // A state of a string that does not count can still be reached by another string.
        let counts = length + 1 >= lengths.lowerBound && !isForbidden(longer)
        if counts ? seen.insert(state).inserted : !seen.contains(state) { next.append((state, longer)) }
      }
    }
    front = next
  }
  return strings
}

/// Several patterns in parallel. A state is the set of the possible positions in each of them.
private struct PatternAutomaton {
  private let patterns: [[PatternToken]]
  /// The start of each pattern's positions.
  private let starts: [Int]
  let size: Int

  init(_ patterns: [[PatternToken]]) {
    self.patterns = patterns
    var starts: [Int] = []
    var size = 0
    for pattern in patterns {
      starts.append(size)
      size += pattern.count + 1
    }
    self.starts = starts
    self.size = size
  }

  var start: [UInt64] {
    var state = empty
    for i in patterns.indices { enter(0, of: i, in: &state) }
    return state
  }

  func step(_ state: [UInt64], _ byte: UInt8) -> [UInt64] {
    var next = empty
    for (i, pattern) in patterns.enumerated() {
      for (place, token) in pattern.enumerated() where isSet(starts[i] + place, in: state) {
        switch token {
        case .byte(byte), .anyByte: enter(place + 1, of: i, in: &next)
        case .anyRun: enter(place, of: i, in: &next)
        case .byte: break
        }
      }
    }
    return next
  }

  /// The patterns that match the input so far.
  func verdict(_ state: [UInt64]) -> [Bool] { patterns.indices.map { isSet(starts[$0] + patterns[$0].count, in: state) } }

  /// The bytes in the patterns, and one byte that is in none of them.
  func alphabet(_ isAllowed: (UInt8) -> Bool) -> [UInt8] {
    var named = Set<UInt8>()
    for pattern in patterns { for case .byte(let byte) in pattern { named.insert(byte) } }
    let other = (Array(UInt8(ascii: "a")...UInt8(ascii: "z")) + Array(0...255)).first { isAllowed($0) && !named.contains($0) }
    return (other.map { [$0] } ?? []) + named.filter(isAllowed).sorted(by: >)
  }

  private var empty: [UInt64] { Array(repeating: 0, count: (size + 63) / 64) }

  private func isSet(_ bit: Int, in state: [UInt64]) -> Bool { state[bit / 64] >> UInt64(bit % 64) & 1 == 1 }

  /// A run may be empty, so its end is reached together with its beginning.
  private func enter(_ place: Int, of pattern: Int, in state: inout [UInt64]) {
    var place = place
    while true {
      let bit = starts[pattern] + place
      state[bit / 64] |= 1 << UInt64(bit % 64)
      guard place < patterns[pattern].count, patterns[pattern][place] == .anyRun else { return }
      place += 1
    }
  }
}
