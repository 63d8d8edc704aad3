import NetworkTypes

/// The probe results on the networks of the last day. Held in memory only, because they reveal where a person has been.
struct ProbeMemory: Hashable, Sendable {
  static let mostNetworks = 32
  static let mostAnswers = 32
  static let lifetime = Duration.seconds(24 * 3600)

  private struct Entry: Hashable, Sendable {
    let identity: NetworkIdentity
    let answers: [Evidence: Bool]
    let keptAt: Moment
  }

  /// The entries, the oldest first.
  private var entries: [Entry] = []

  mutating func keep(_ records: [Inquiry: ProbeMachine.Record], of identity: NetworkIdentity, at now: Moment) {
    let known = records.sorted { $0.key.order < $1.key.order }.compactMap { inquiry, record -> (Evidence, Bool)? in
      guard case .probe(let probe) = inquiry, let answer = record.result?.facts[.probe(probe)]?.value else { return nil }
      return (.probe(probe), answer)
    }
    entries.removeAll { $0.keptAt + Self.lifetime < now || !known.isEmpty && $0.identity.mayBeSame(as: identity) }
    guard !known.isEmpty else { return }
    let answers = Dictionary(known.prefix(Self.mostAnswers)) { first, _ in first }
    entries = entries.suffix(Self.mostNetworks - 1) + [Entry(identity: identity, answers: answers, keptAt: now)]
  }

  func answers(of identity: NetworkIdentity, at now: Moment) -> [Evidence: Bool] {
    entries.last { $0.identity.mayBeSame(as: identity) && now <= $0.keptAt + Self.lifetime }?.answers ?? [:]
  }
}
