package import JSON
package import RoamwardCore

/// The primary link or its network has changed.
package struct NetworkEvent: Happening {
  package static let event = "network"

  package var link: String?
  package var type: String?
  package var ssid: String?

  package func line(_ code: ReasonCode?) -> String {
    guard let link else { return "network: none" }
    return "network: \(type ?? "-") \(link)" + (ssid.map { ", ssid \"\($0)\"" } ?? "")
  }

  private enum CodingKeys: String, DescribedKey {
    case link
    case type
    case ssid

    var about: String {
      switch self {
      case .link: "The primary link; null: there is no network."
      case .type: "Its type, as policies name it; null: not known."
      case .ssid: "The name of the Wi-Fi network."
      }
    }
  }
}

/// A new policy set is active, or was rejected for its errors.
package struct PolicyEvent: Happening {
  package static let event = "policy"

  package var generation: Int
  package var errors: Int
  package var warnings: Int

  package func line(_ code: ReasonCode?) -> String {
    errors == 0 ? "policy: set \(generation) is active" : "policy: \(errors) errors; the last known good stays active"
  }

  private enum CodingKeys: String, DescribedKey {
    case generation
    case errors
    case warnings

    var about: String {
      switch self {
      case .generation: "Counts the sets of policies that took force since the agent started."
      case .errors: "Errors in the files: with one, the last known good stays in force."
      case .warnings: "Warnings about the files."
      }
    }
  }
}

/// The kill switch blocks something else than before.
package struct FirewallEvent: Happening {
  package static let event = "firewall"

  package var firewall: FirewallStatus

  package func line(_ code: ReasonCode?) -> String {
    firewall.text
      ?? (firewall.guards.isEmpty ? "kill switch: off" : "kill switch: active for \(firewall.guards.joined(separator: ", "))")
  }

  private enum CodingKeys: String, DescribedKey {
    case firewall

    var about: String {
      switch self {
      case .firewall: "The state of the kill switch."
      }
    }
  }
}

/// Changes by another program were repaired.
package struct RepairEvent: Happening {
  package static let event = "repair"

  package var tunnel: String?
  package var count: Int

  package func line(_ code: ReasonCode?) -> String {
    "\(tunnel.map { "\($0): " } ?? "")drift repaired (\(code?.rawValue ?? "-"), \(count) times)"
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case count

    var about: String {
      switch self {
      case .tunnel: "The tunnel whose link it was; null: none alone."
      case .count: "Number of repairs in a burst."
      }
    }
  }
}

/// A note for people; sent once, while it lasts.
package struct WarningEvent: Happening {
  package static let event = "warning"

  package var tunnel: String?
  package var message: String

  package func line(_ code: ReasonCode?) -> String {
    "warning: \(message)"
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel
    case message

    var about: String {
      switch self {
      case .tunnel: "The tunnel that it concerns; null: none alone."
      case .message: "For people."
      }
    }
  }
}

/// The observed network. Only `monitor --record` asks for it.
package struct SnapshotEvent: Happening {
  package static let event = "snapshot"

  package var network: JSON

  package func line(_ code: ReasonCode?) -> String {
    "network: observed"
  }

  private enum CodingKeys: String, DescribedKey {
    case network

    var about: String {
      switch self {
      case .network: "The network, as network.schema.json describes it, without `facts`."
      }
    }
  }
}
