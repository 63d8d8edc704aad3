internal import JSON
package import KernelModel
package import NetworkTypes

extension StatusReport {
  /// The DNS backend of this host, and the reasons against the others.
  package struct Resolver: Hashable, Sendable, Codable {
    /// `systemd-resolved`, `resolvconf`, `openresolv`, `file` or `none`.
    package var backend: String
    package var reason: String
    /// Whether the backend supports split DNS.
    package var splits: Bool
    package var candidates: [Candidate]
    /// Domains whose names are refused, because their tunnel is down.
    package var refused: [String]
    /// Which programs ask whom, if it depends on the program.
    package var lookup: String?
    /// Answers that our name server has withheld, by tunnel.
    package var withheld: [Withheld] = []

    package init(backend: String, reason: String, splits: Bool, candidates: [Candidate], refused: [String] = []) {
      self.backend = backend
      self.reason = reason
      self.splits = splits
      self.candidates = candidates
      self.refused = refused
    }

    private enum CodingKeys: String, DescribedKey {
      case backend, reason
      case splits = "split"
      case candidates, refused, lookup, withheld

      var about: String {
        switch self {
        case .backend: "The DNS backend: systemd-resolved, resolvconf, openresolv, file or none."
        case .reason: "Why it is this one."
        case .splits: "Whether names of some domains can go to other servers."
        case .candidates: "Every backend that was considered."
        case .refused: "Domains whose names are refused, because their tunnel is not up."
        case .withheld: "Answers of the network's name servers that were withheld, because their addresses are inside a tunnel."
        case .lookup: "Which programs ask systemd-resolved and which resolv.conf's servers; null if all follow resolv.conf."
        }
      }
    }
  }

  /// Answers that our name server has withheld since the agent's start, because their addresses are inside a tunnel.
  package struct Withheld: Hashable, Sendable, Codable {
    package struct Last: Hashable, Sendable, Codable {
      package var name: String
      package var address: String
      /// The domain that `rebind-allowed` needs.
      package var domain: String

      private enum CodingKeys: String, DescribedKey {
        case name = "query"
        case address, domain

        var about: String {
          switch self {
          case .name: "The name that was asked for."
          case .address: "The address inside the tunnel."
          case .domain: "The domain that `rebind-allowed` needs, if the name is a trusted one."
          }
        }
      }
    }

    package var tunnel: String
    package var count: Int64
    package var at: Timestamp
    /// The last one; `nil`: the reader may not see what others look up.
    package var last: Last?

    private enum CodingKeys: String, DescribedKey {
      case tunnel, count, at, last

      var about: String {
        switch self {
        case .tunnel: "The tunnel."
        case .count: "Their number since the agent's start."
        case .at: "Time of the last one."
        case .last: "The last one; null: you may not see what others look up."
        }
      }
    }
  }

  /// A DNS backend that was considered.
  package struct Candidate: Hashable, Sendable, Codable {
    package var backend: String
    package var isChosen: Bool
    package var reason: String

    package init(backend: String, isChosen: Bool, reason: String) {
      self.backend = backend
      self.isChosen = isChosen
      self.reason = reason
    }

    private enum CodingKeys: String, DescribedKey {
      case backend
      case isChosen = "chosen"
      case reason

      var about: String {
        switch self {
        case .backend: "Its name."
        case .isChosen: "Whether it is chosen."
        case .reason: "Why, or why not."
        }
      }
    }
  }

  /// A request to the network, as evidence for a fact.
  package struct Probe: Hashable, Sendable, Codable {
    package var name: String
    /// `ok`, `fail` or `unknown`; for a captive portal also `open` or `closed`.
    package var answer: String
    package var reason: String
    package var answeredAt: Timestamp?
    /// The time of the next request without an event.
    package var nextAt: Timestamp?
    /// Whether a decision depends on it now.
    package var isWanted: Bool

    package init(name: String, answer: String, reason: String, answeredAt: Timestamp?, nextAt: Timestamp?, isWanted: Bool) {
      self.name = name
      self.answer = answer
      self.reason = reason
      self.answeredAt = answeredAt
      self.nextAt = nextAt
      self.isWanted = isWanted
    }

    private enum CodingKeys: String, DescribedKey {
      case name, answer, reason
      case answeredAt = "answered-at"
      case nextAt = "next-at"
      case isWanted = "wanted"

      var about: String {
        switch self {
        case .name: "The probe's name in the policy, or the check's name."
        case .answer: "The result; of a captive portal open or closed."
        case .reason: "The reply, or what it waits for."
        case .answeredAt: "Time of the answer."
        case .nextAt: "Time of the next repetition."
        case .isWanted: "Whether a decision depends on it now."
        }
      }

      var values: [String]? {
        switch self {
        case .answer: ["ok", "fail", "unknown", "open", "closed"]
        default: nil
        }
      }
    }
  }
}

extension StatusReport.Withheld {
  package init(_ answers: WithheldAnswers, of tunnel: String, at time: Timestamp) {
    self.tunnel = tunnel
    count = Int64(clamping: answers.count)
    at = time
    last = Last(
      name: answers.name, address: answers.address.description, domain: WithheldAnswers.domain(toAllow: answers.name))
  }

  /// For people, as in `status` and `doctor`.
  package var text: String {
    let which = last.map { ", last of \($0.name) (\($0.address))" } ?? ""
    return "\(count) answer\(count == 1 ? "" : "s") of the network with addresses inside \(tunnel)\(which) (DNS rebinding)"
  }

  package var cure: String {
    "if the name is to have such addresses, `rebind-allowed: [\(last?.domain ?? "DOMAIN")]` in `dns:` of \(tunnel)"
  }
}
