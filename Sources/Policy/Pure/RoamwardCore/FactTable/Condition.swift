package import NetworkTypes

/// The match of a rule or a named network: a tree over facts of the underlay's primary link. Evaluates to yes, no or unknown.
package enum Condition: Hashable, Sendable {
  /// All parts have to match; an empty list always matches.
  case all([Condition])
  /// One part has to match; an empty list always matches, as an absent key would.
  case any([Condition])
  /// Negates the condition; unknown stays unknown.
  indirect case not(Condition)
  /// A network named in any file.
  case network([String])

  /// One key of a match, as the table of facts declares it.
  case criterion(Criterion)

  package static let always = Condition.all([])
  package static let never = Condition.not(.always)

  /// The fact that a key requires; `nil` for facts that come with every observation, and for other conditions.
  var kind: FactKind? { if case .criterion(let criterion) = self { criterion.key.kind } else { nil } }

  /// The query to the network that a key requires; `nil` for keys without one, and for conditions made of other keys.
  var evidence: Evidence? { if case .criterion(let criterion) = self { criterion.evidence } else { nil } }

  /// The networks that the condition names, in order.
  package var networksNamed: [String] {
    switch self {
    case .all(let parts), .any(let parts): parts.flatMap(\.networksNamed)
    case .not(let part): part.networksNamed
    case .network(let names): names
    case .criterion: []
    }
  }

  /// The key's name in the policy language.
  package var key: String {
    switch self {
    case .all: "match"
    case .any: "any-of"
    case .not: "not"
    case .network: "network"
    case .criterion(let criterion): criterion.key.name
    }
  }
}

/// The quantifier over the link's name servers: each has to match, or any.
package enum DNSServerQuantifier: Equatable, Sendable {
  /// All of the link's servers match, as Apple's rules ask.
  case each
  /// One of the link's servers matches.
  case any
}

/// A list of SSIDs in a file that others maintain, as it was when the policy was loaded. The file is watched like the policy.
package struct SSIDFile: Hashable, Sendable {
  package enum Contents: Hashable, Sendable {
    case entries(Set<SSID>)
    /// The file could not be read: whether an SSID is on it is unknown.
    case unreadable(reason: String)
  }

  package let path: String
  package let contents: Contents

  package init(path: String, contents: Contents) {
    self.path = path
    self.contents = contents
  }
}

/// An entry under `dns-server`: an address, a prefix, or Apple's trailing wildcard (`17.*`, which is 17.0.0.0/8).
package struct DNSServerPattern: Hashable, Sendable, LosslessStringConvertible {
  package let prefix: IPPrefix
  package let description: String

  package init?(_ text: String) {
    guard let prefix = IPPrefix(text) ?? Self.wildcard(text) else { return nil }
    self.prefix = prefix
    description = text
  }

  /// Parses one to three whole octets and `.*`.
  private static func wildcard(_ text: String) -> IPPrefix? {
    guard text.hasSuffix(".*") else { return nil }
    let octets = text.dropLast(2).split(separator: ".", omittingEmptySubsequences: false)
    guard (1...3).contains(octets.count) else { return nil }
    let padded = octets + Array(repeating: "0", count: 4 - octets.count)
    return IPPrefix("\(padded.joined(separator: "."))/\(8 * octets.count)")
  }
}
