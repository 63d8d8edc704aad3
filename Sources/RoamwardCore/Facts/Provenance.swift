package import NetworkTypes

/// Where facts come from. Kept beside a snapshot and never in it: the same network, confirmed again, is the same snapshot.
package struct Provenance: Hashable, Sendable {
  /// By link and fact.
  package var links: [String: [FactKind: FactOrigin]]
  /// Of the machine as a whole.
  package var machine: [FactKind: FactOrigin]

  package init(links: [String: [FactKind: FactOrigin]] = [:], machine: [FactKind: FactOrigin] = [:]) {
    self.links = links
    self.machine = machine
  }

  /// Where a fact comes from: the link's, where it is a link's.
  package func origin(of fact: FactKind, on link: String?) -> FactOrigin? {
    fact.isOfLink ? link.flatMap { links[$0]?[fact] } : machine[fact]
  }
}

/// Every source that was asked for a fact, in order, and what it answered.
package struct FactOrigin: Hashable, Sendable {
  package var sources: [SourceAnswer]
  /// When the believed source last said so, in seconds since 1970; `nil` where none is believed.
  package var confirmed: Int64?

  package init(_ sources: [SourceAnswer], confirmed: Int64? = nil) {
    self.sources = sources
    self.confirmed = confirmed
  }

  package var believed: SourceAnswer? { sources.first(where: \.isBelieved) }
}

/// What one source answered, and what was made of it.
package struct SourceAnswer: Hashable, Sendable {
  /// Its name: `systemd-resolved`, `nl80211`.
  package var source: String
  /// The answer, in words.
  package var said: String
  package var isBelieved: Bool
  /// Why it was believed, or was not, where that needs saying.
  package var reason: String?

  package init(source: String, said: String, isBelieved: Bool, reason: String? = nil) {
    self.source = source
    self.said = said
    self.isBelieved = isBelieved
    self.reason = reason
  }
}

/// A fact, with where it comes from.
package struct Traced<Value: Hashable & Sendable>: Hashable, Sendable {
  package var fact: Fact<Value>
  package var origin: FactOrigin
  /// It is unknown, and every source that there is has said that it cannot tell.
  package var isUnavailable: Bool

  package init(_ fact: Fact<Value>, _ origin: FactOrigin, isUnavailable: Bool = false) {
    self.fact = fact
    self.origin = origin
    self.isUnavailable = isUnavailable
  }
}
