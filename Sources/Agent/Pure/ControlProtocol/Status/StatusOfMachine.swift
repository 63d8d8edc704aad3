internal import JSON
package import NetworkTypes
internal import RoamwardCore

extension StatusReport {
  /// An error or a warning in a policy file.
  package struct Problem: Hashable, Sendable, Codable {
    package var file: String
    package var line: Int
    package var column: Int
    /// `error` or `warning`.
    package var severity: String
    package var message: String

    package init(file: String, line: Int, column: Int, severity: String, message: String) {
      self.file = file
      self.line = line
      self.column = column
      self.severity = severity
      self.message = message
    }

    private enum CodingKeys: String, DescribedKey {
      case file, line, column, severity, message

      var about: String {
        switch self {
        case .file: "The file."
        case .line: "The line, counted from 1."
        case .column: "The column, counted from 1."
        case .severity: "An error keeps the file out of force."
        case .message: "For people."
        }
      }

      var values: [String]? {
        switch self {
        case .severity: ["error", "warning"]
        default: nil
        }
      }
    }
  }

  /// The policies, and their errors and warnings.
  package struct Policies: Hashable, Sendable, Codable {
    /// The number of policy sets that became active since the agent started.
    package var generation: Int
    package var files: Int
    /// The errors and warnings. With an error among them, the last known good policies are active.
    package var problems: [Problem]
    /// The last known good policies that are active instead of files with errors.
    package var replacedFiles: [ReplacedFile]
    /// The time until which the policies on trial may be confirmed; `nil`: none are on trial.
    package var trialUntil: Timestamp?

    package init(generation: Int, files: Int, problems: [Problem] = [], replacedFiles: [ReplacedFile] = [], trialUntil: Timestamp? = nil) {
      self.generation = generation
      self.files = files
      self.problems = problems
      self.replacedFiles = replacedFiles
      self.trialUntil = trialUntil
    }

    private enum CodingKeys: String, DescribedKey {
      case generation, files, problems
      case replacedFiles = "stand-ins"
      case trialUntil = "trial-until"

      var about: String {
        switch self {
        case .generation: "Counts the sets of policies that took force since the agent started."
        case .files: "Number of policy files that were read."
        case .problems: "Errors and warnings; in place of a file with errors, the last known good is active."
        case .replacedFiles: "The last known good policies that are active in place of files with errors."
        case .trialUntil: "Time at which the policies on trial are reverted; null: no trial."
        }
      }
    }
  }

  /// A digest of the network for each address family (`NetworkIdentity.digest`).
  package struct Digests: Hashable, Sendable, Codable {
    package var v4: String?
    package var v6: String?

    package init(v4: String?, v6: String?) {
      self.v4 = v4
      self.v6 = v6
    }

    private enum CodingKeys: String, DescribedKey {
      case v4 = "ipv4"
      case v6 = "ipv6"

      var about: String {
        switch self {
        case .v4: "Of IPv4; null: the network has none."
        case .v6: "Of IPv6; null: the network has none."
        }
      }
    }
  }

  /// The primary link. `nil` fields: no network, not on Wi-Fi, not known.
  package struct Primary: Hashable, Sendable, Codable {
    package var link: String?
    package var type: String?
    package var ssid: String?
    package var network: Digests

    package init(link: String?, type: String?, ssid: String?, network: Digests = Digests(v4: nil, v6: nil)) {
      self.link = link
      self.type = type
      self.ssid = ssid
      self.network = network
    }

    private enum CodingKeys: String, DescribedKey {
      case link, type, ssid, network

      var about: String {
        switch self {
        case .link: "Its name; null: there is no network."
        case .type: "Its type, as policies name it; null: not known."
        case .ssid: "The name of the Wi-Fi network; null: not on Wi-Fi, or not known."
        case .network: "Digests that identify the network."
        }
      }
    }
  }

  /// Counters since the agent started.
  package struct Counters: Hashable, Sendable, Codable {
    /// Kernel notifications received; those that the kernel-side filter dropped are not counted anywhere.
    package var events: Int
    /// The number of times that notifications were lost and everything was read again.
    package var overflows: Int
    /// Observations of the machine; a `status` makes one.
    package var observations: Int
    /// The number of rule evaluations.
    package var evaluations: Int
    /// The number of comparisons of the observed with the desired state.
    package var plans: Int
    /// Steps that changed the machine.
    package var steps: Int
    /// Steps that repaired changes by other programs.
    package var repairs: Int
    /// The number of reads of a single WireGuard device that check whether its peer answered.
    package var polls: Int

    package init(
      events: Int = 0, overflows: Int = 0, observations: Int = 0, evaluations: Int = 0, plans: Int = 0, steps: Int = 0, repairs: Int = 0,
      polls: Int = 0
    ) {
      self.events = events
      self.overflows = overflows
      self.observations = observations
      self.evaluations = evaluations
      self.plans = plans
      self.steps = steps
      self.repairs = repairs
      self.polls = polls
    }

    private enum CodingKeys: String, DescribedKey {
      case events, overflows, observations, evaluations, plans, steps, repairs, polls

      var about: String {
        switch self {
        case .events: "Kernel events that reached the agent."
        case .overflows: "Number of times that events were lost and everything was read again."
        case .observations: "Number of observations of the machine; `status` makes one too."
        case .evaluations: "Number of rule evaluations."
        case .plans: "Number of plans: comparisons of observed and desired state."
        case .steps: "Steps that changed the machine."
        case .repairs: "Steps that repaired what another program had changed."
        case .polls: "Number of reads of a single WireGuard device, to see its last handshake."
        }
      }
    }
  }

  /// The reason why the agent woke, or will wake without an event.
  package struct Wake: Hashable, Sendable, Codable {
    /// The reason, such as `network-event`, `tunnel` or `sample`; docs/operations.md lists them.
    package var reason: String
    package var tunnel: String?
    package var at: Timestamp

    package init(reason: String, tunnel: String?, at: Timestamp) {
      self.reason = reason
      self.tunnel = tunnel
      self.at = at
    }

    private enum CodingKeys: String, DescribedKey {
      case reason, tunnel, at

      var about: String {
        switch self {
        case .reason: "The reason; docs/operations.md explains each."
        case .tunnel: "The tunnel that it is about; null: none alone."
        case .at: "Time of the wake-up."
        }
      }

      var values: [String]? {
        switch self {
        case .reason: WakeReason.allCases.map(\.rawValue)
        default: nil
        }
      }
    }
  }
}
