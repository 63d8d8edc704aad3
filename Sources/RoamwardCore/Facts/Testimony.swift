import NetworkTypes

/// What a source answers when it is asked about something.
package enum Answer<Value: Hashable & Sendable>: Hashable, Sendable {
  case said(Value)
  /// It has nothing to say: it does not run, or does not know the link.
  case silent(because: String)
  /// It is about to know: it has been asked just now, or is still at work on the link.
  case pending(because: String)

  package func map<Other>(_ transform: (Value) -> Other) -> Answer<Other> {
    flatMap { .said(transform($0)) }
  }

  package func flatMap<Other>(_ transform: (Value) -> Answer<Other>) -> Answer<Other> {
    switch self {
    case .said(let value): transform(value)
    case .silent(let reason): .silent(because: reason)
    case .pending(let reason): .pending(because: reason)
    }
  }
}

/// One source's answer to one question.
package struct Testimony<Value: Hashable & Sendable>: Hashable, Sendable {
  package var source: String
  package var answer: Answer<Value>
  /// What a reader has to know about the answer: that it is a guess, say.
  package var remark: String?
  /// When it last said so, in seconds since 1970.
  package var confirmed: Int64?

  package init(_ source: String, _ answer: Answer<Value>, remark: String? = nil, confirmed: Int64? = nil) {
    self.source = source
    self.answer = answer
    self.remark = remark
    self.confirmed = confirmed
  }

  package func map<Part>(_ part: (Value) -> Part) -> Testimony<Part> {
    Testimony<Part>(source, answer.map(part), remark: remark, confirmed: confirmed)
  }
}

/// Finds the fact among what the sources say, who come in the order in which they are to be believed.
///
/// The first conclusive answer counts. Where a better source has still to answer, the fact is unknown until it has: a worse one is not
/// believed in the meantime, or decisions would flicker. Where answers are all inconclusive (no servers, no domains), the first of them
/// counts. `unknown` is the reason, with its cure, where nobody says anything.
package func judge<Value>(
  _ testimonies: [Testimony<Value>], unknown: String, isConclusive: (Value) -> Bool = { _ in true }, words: (Value) -> String
) -> Traced<Value> {
  let chosen = testimonies.firstIndex { testimony in
    switch testimony.answer {
    case .said(let value): isConclusive(value)
    case .pending: true
    case .silent: false
    }
  }
  let believed = chosen ?? testimonies.firstIndex { if case .said = $0.answer { true } else { false } }
  let heard = chosen.map { testimonies[...$0] } ?? testimonies[...]
  var answers = heard.enumerated().map { i, testimony in
    let isBelieved = i == believed
    return switch testimony.answer {
    case .said(let value):
      SourceAnswer(
        source: testimony.source, said: words(value), isBelieved: isBelieved,
        because: testimony.remark ?? (isBelieved ? nil : "others may know more"))
    case .silent(let reason): SourceAnswer(source: testimony.source, said: "nothing: \(reason)", isBelieved: false)
    case .pending(let reason): SourceAnswer(source: testimony.source, said: "nothing yet: \(reason)", isBelieved: false)
    }
  }
  answers += testimonies.dropFirst(heard.count).map {
    SourceAnswer(source: $0.source, said: "not asked", isBelieved: false, because: "a better source has answered")
  }
  guard let believed else { return Traced(.unknown(because: unknown), FactOrigin(answers), isUnavailable: true) }
  let testimony = testimonies[believed]
  guard case .said(let value) = testimony.answer else {
    let reason = if case .pending(let reason) = testimony.answer { reason } else { unknown }
    for i in answers.indices where i > believed { answers[i].because = "a better source has still to answer" }
    return Traced(.unknown(because: "\(testimony.source): \(reason)"), FactOrigin(answers))
  }
  return Traced(.known(value), FactOrigin(answers, confirmed: testimony.confirmed))
}
