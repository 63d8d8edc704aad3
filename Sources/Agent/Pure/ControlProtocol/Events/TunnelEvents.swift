internal import JSON
package import NetworkTypes
package import RoamwardCore

/// The decision on a tunnel, or its reason, has changed.
package struct DecisionEvent: Happening {
  package static let event = "decision"

  package var tunnel: String
  package var decision: String
  package var rule: Int?
  package var name: String?
  package var reason: String

  package func line(_ code: ReasonCode?) -> String {
    let rule = rule.map { text(forRule: $0, name: name) + ": " } ?? ""
    return "\(tunnel): \(decision) (\(rule)\(reason))"
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case decision
    case rule
    case name
    case reason

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .decision: "The decision of the rules."
      case .rule: "The place of the rule that decided, counted from 1; null: none holds."
      case .name: "The rule's name."
      case .reason: "Why, for people."
      }
    }

    var values: [String]? {
      switch self {
      case .decision: Decision.Outcome.allCases.map(\.rawValue)
      default: nil
      }
    }
  }
}

/// A program's look-up of a name starts a tunnel.
package struct LookupEvent: Happening {
  package static let event = "lookup"

  package var tunnel: String
  package var name: String
  package var user: Int64?
  package var controlGroup: String?

  package func line(_ code: ReasonCode?) -> String {
    let asker = user.map { NameLookup.Asker(user: UInt32(truncatingIfNeeded: $0), controlGroup: controlGroup) }
    return "\(tunnel): \(NameLookup(tunnel: tunnel, name: name, asker: asker)) starts it"
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case name
    case user
    case controlGroup = "control-group"

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .name: "The name that was looked up."
      case .user: "The user ID of the program that asked; null: another host, a container, or a program that is gone."
      case .controlGroup: "The control group of the program that asked; null: not known."
      }
    }
  }
}

/// Addresses of a name get routes.
package struct NameRouteEvent: Happening {
  package static let event = "name-route"

  package var tunnel: String
  package var name: String
  package var way: String
  package var addresses: [String]

  package func line(_ code: ReasonCode?) -> String {
    let place = way == NameWay.include.rawValue ? "through it" : "outside it"
    return "\(tunnel): \(addresses.joined(separator: ", ")) of \(name): \(place)"
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case name
    case way
    case addresses

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .name: "The name, of a domain of the tunnel's policy."
      case .way: "Whether packets to the addresses go through the tunnel (`include`) or outside of it (`exclude`)."
      case .addresses: "The addresses that had no such route before."
      }
    }

    var values: [String]? {
      switch self {
      case .way: NameWay.allCases.map(\.rawValue)
      default: nil
      }
    }
  }
}

/// A tunnel has changed its state.
package struct StateEvent: Happening {
  package static let event = "state"

  package var tunnel: String
  package var from: String
  package var to: String
  package var reason: String

  package func line(_ code: ReasonCode?) -> String {
    "\(tunnel): \(from) -> \(to) (\(reason))"
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case from
    case to
    case reason

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .from: "The state before."
      case .to: "The state now."
      case .reason: "Why, for people."
      }
    }

    var values: [String]? {
      switch self {
      case .from, .to: TunnelMachine.State.statuses
      default: nil
      }
    }
  }
}

/// An attempt to start a tunnel, or a connected tunnel, has failed.
package struct FailureEvent: Happening {
  package static let event = "failure"

  package var tunnel: String
  package var reason: String

  package func line(_ code: ReasonCode?) -> String {
    "\(tunnel): failed (\(reason))"
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case reason

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .reason: "Why, for people."
      }
    }
  }
}

/// A manual override of a tunnel was set, or is over.
package struct OverrideEvent: Happening {
  package static let event = "override"

  package var tunnel: String
  package var override: String?
  package var isSaid: Bool
  package var lifetime: Lifetime.Word?
  package var milliseconds: Int64?
  package var reason: String?

  package func line(_ code: ReasonCode?) -> String {
    "\(tunnel): " + (override.map { "manual override (\($0))\(lifetime.map(end) ?? "")" } ?? "manual override ended")
  }

  private func end(of lifetime: Lifetime.Word) -> String {
    switch lifetime {
    case .network: " until the network changes"
    case .resume: " until it is resumed"
    case .time: milliseconds.map { " for \(text(for: .milliseconds($0)))" } ?? ""
    }
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case override
    case isSaid = "said"
    case lifetime
    case milliseconds = "after-ms"
    case reason

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .override: "The manual override; null: it ended."
      case .isSaid: "Whether a person said it just now."
      case .lifetime: "The event that ends it."
      case .milliseconds: "Its duration; null: it ends otherwise."
      case .reason: "The reason that the person gave."
      }
    }

    var values: [String]? {
      switch self {
      case .override: ["up", "down"]
      default: nil
      }
    }
  }
}

/// A timer of a tunnel was set, or was cancelled.
package struct TimerEvent: Happening {
  package static let event = "timer"

  package var tunnel: String
  package var timer: String
  package var at: Timestamp?
  package var milliseconds: Int64?

  package func line(_ code: ReasonCode?) -> String {
    let what = TunnelTimer.What(rawValue: timer)
    guard let milliseconds else { return "\(tunnel): \(what?.textOfEnd ?? "no more \(timer)")" }
    let time = text(for: .milliseconds(milliseconds))
    return "\(tunnel): \(what?.text(in: time) ?? "\(timer) in \(time)")"
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case timer
    case at
    case milliseconds = "after-ms"

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .timer: "The kind of timer."
      case .at: "Time at which it fires; null: cancelled."
      case .milliseconds: "Delay in milliseconds; null: cancelled."
      }
    }

    var values: [String]? {
      switch self {
      case .timer: TunnelTimer.What.allCases.map(\.rawValue)
      default: nil
      }
    }
  }
}
