package import NetworkTypes

/// The sources of facts. Stored beside a snapshot and never in it: the same network, confirmed again, is the same snapshot.
package struct Provenance: Equatable, Sendable {
  /// The origins by link and fact.
  package var links: [String: [FactKind: FactOrigin]]
  /// The origins of the machine's own facts.
  package var machine: [FactKind: FactOrigin]

  package init(links: [String: [FactKind: FactOrigin]] = [:], machine: [FactKind: FactOrigin] = [:]) {
    self.links = links
    self.machine = machine
  }

  /// The origin of a fact; of the link's fact if it belongs to a link.
  package func origin(of fact: FactKind, on link: String?) -> FactOrigin? {
    fact.isOfLink ? link.flatMap { links[$0]?[fact] } : machine[fact]
  }
}

/// The sources that were queried for a fact, in order, with their answers.
package struct FactOrigin: Hashable, Sendable {
  package var sources: [SourceAnswer]
  /// When the selected source last confirmed the fact, in seconds since 1970; `nil` if none is selected.
  package var confirmed: Int64?

  package init(_ sources: [SourceAnswer], confirmed: Int64? = nil) {
    self.sources = sources
    self.confirmed = confirmed
  }

  package var believed: SourceAnswer? { sources.first(where: \.isBelieved) }
}

/// The answer of one source, and its use.
package struct SourceAnswer: Hashable, Sendable {
  /// The source's name: `systemd-resolved`, `nl80211`.
  package var source: String
  /// The answer as text.
  package var said: String
  package var isBelieved: Bool
  /// The reason why it was selected or not, if that needs an explanation.
  package var reason: String?

  package init(source: String, said: String, isBelieved: Bool, reason: String? = nil) {
    self.source = source
    self.said = said
    self.isBelieved = isBelieved
    self.reason = reason
  }
}

/// A fact with its origin.
package struct Traced<Value: Hashable & Sendable>: Hashable, Sendable {
  package var fact: Fact<Value>
  package var origin: FactOrigin
  /// Whether the fact is unknown, and all sources have answered that they do not know.
  package var isUnavailable: Bool

  package init(_ fact: Fact<Value>, _ origin: FactOrigin, isUnavailable: Bool = false) {
    self.fact = fact
    self.origin = origin
    self.isUnavailable = isUnavailable
  }
}
