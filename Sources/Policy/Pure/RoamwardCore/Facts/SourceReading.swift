import NetworkTypes

/// The answer of a source to one question.
package enum Answer<Value: Hashable & Sendable>: Hashable, Sendable {
  case value(Value)
  /// The source has no answer: it does not run, or does not know the link.
  case unavailable(reason: String)
  /// The source will answer soon: the query was just sent, or it is still configuring the link.
  case pending(reason: String)

  package func map<Other>(_ transform: (Value) -> Other) -> Answer<Other> {
    flatMap { .value(transform($0)) }
  }

  package func flatMap<Other>(_ transform: (Value) -> Answer<Other>) -> Answer<Other> {
    switch self {
    case .value(let value): transform(value)
    case .unavailable(let reason): .unavailable(reason: reason)
    case .pending(let reason): .pending(reason: reason)
    }
  }
}

/// One source's answer to one question, with its name and time.
package struct SourceReading<Value: Hashable & Sendable>: Hashable, Sendable {
  package var source: String
  package var answer: Answer<Value>
  /// A note for readers, for instance that the answer is a guess.
  package var remark: String?
  /// When the source last confirmed the answer, in seconds since 1970.
  package var confirmed: Int64?

  package init(_ source: String, _ answer: Answer<Value>, remark: String? = nil, confirmed: Int64? = nil) {
    self.source = source
    self.answer = answer
    self.remark = remark
    self.confirmed = confirmed
  }

  package func map<Part>(_ part: (Value) -> Part) -> SourceReading<Part> {
    SourceReading<Part>(source, answer.map(part), remark: remark, confirmed: confirmed)
  }
}

/// Selects the fact from the answers of sources, in order of their precedence.
///
/// The first conclusive answer counts. While a better source has not answered, the fact is unknown: using a worse one meanwhile would make
/// decisions flicker. If all answers are inconclusive (no servers, no domains), the first of them counts. `unknown` is the reason, with a
/// remedy, if no source has an answer.
package func selectFact<Value>(
  from readings: [SourceReading<Value>], unknown: String, isConclusive: (Value) -> Bool = { _ in true }, text: (Value) -> String
) -> Traced<Value> {
  let chosen = readings.firstIndex { reading in
    switch reading.answer {
    case .value(let value): isConclusive(value)
    case .pending: true
    case .unavailable: false
    }
  }
  let believed = chosen ?? readings.firstIndex { if case .value = $0.answer { true } else { false } }
  let heard = chosen.map { readings[...$0] } ?? readings[...]
  var answers = heard.enumerated().map { i, reading in
    let isBelieved = i == believed
    return switch reading.answer {
    case .value(let value):
      SourceAnswer(
        source: reading.source, said: text(value), isBelieved: isBelieved,
        reason: reading.remark ?? (isBelieved ? nil : "others may know more"))
    case .unavailable(let reason): SourceAnswer(source: reading.source, said: "nothing: \(reason)", isBelieved: false)
    case .pending(let reason): SourceAnswer(source: reading.source, said: "nothing yet: \(reason)", isBelieved: false)
    }
  }
  answers += readings.dropFirst(heard.count).map {
    SourceAnswer(source: $0.source, said: "not asked", isBelieved: false, reason: "a better source has answered")
  }
  guard let believed else { return Traced(.unknown(reason: unknown), FactOrigin(answers), isUnavailable: true) }
  let reading = readings[believed]
  guard case .value(let value) = reading.answer else {
    let reason = if case .pending(let reason) = reading.answer { reason } else { unknown }
    for i in answers.indices where i > believed { answers[i].reason = "a better source has still to answer" }
    return Traced(.unknown(reason: "\(reading.source): \(reason)"), FactOrigin(answers))
  }
  return Traced(.known(value), FactOrigin(answers, confirmed: reading.confirmed))
}
