internal import JSON
internal import NetworkTypes

/// The lifetime of an override or a suspension, as a person requests it.
package enum Lifetime: Hashable, Sendable {
  /// Until the network changes.
  case networkChange
  /// Until it is resumed.
  case resume
  /// For this duration.
  case time(Duration)

  package static func seconds(_ seconds: Int64) -> Lifetime { .time(.seconds(seconds)) }

  /// The maximum lifetime of an override: a year.
  package static let longest = Duration.seconds(366 * 86_400)

  /// The kind of lifetime, as reports name it too.
  package enum Word: String, Equatable, Sendable, JSONEnum {
    /// Until the network changes.
    case network
    /// Until a time.
    case time
    /// Until it is ended by hand.
    case resume
  }

  package var word: Word {
    switch self {
    case .networkChange: .network
    case .resume: .resume
    case .time: .time
    }
  }

  package var duration: Duration? { if case .time(let duration) = self { duration } else { nil } }
}

extension Lifetime: Codable {
  private enum CodingKeys: String, CodingKey {
    case word = "lifetime"
    case milliseconds = "after-ms"
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Word.self, forKey: .word) {
    case .network: self = .networkChange
    case .resume: self = .resume
    case .time:
      let duration = Duration.milliseconds(try container.decode(Int64.self, forKey: .milliseconds))
      guard duration > .zero, duration <= Self.longest else {
        throw JSONMismatch(at: container.codingPath + [CodingKeys.milliseconds], "expected a duration of at most a year")
      }
      self = .time(duration)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(word, forKey: .word)
    try container.encodeIfPresent(duration?.milliseconds, forKey: .milliseconds)
  }
}
