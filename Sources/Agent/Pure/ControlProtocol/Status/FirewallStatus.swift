internal import JSON
package import NetworkTypes
package import RoamwardCore

/// The state of the kill switch, in the terms of docs/security-kill-switch.md.
package struct FirewallStatus: Hashable, Sendable, Codable {
  package enum Situation: String, Equatable, Sendable, JSONEnum {
    /// No kill switch is active.
    case open
    /// A kill switch blocks what its tunnels include, except through them.
    case guarded
    /// The same, with a portal window.
    case portal
    /// A person has suspended the kill switch.
    case released
  }

  package let situation: Situation
  /// The reason for the state; `reason` is a person's text.
  package let code: ReasonCode
  /// Tunnels whose kill switch is active.
  package let guards: [String]
  /// Those of them that are down: the addresses that they include are blocked completely.
  package let blocking: [String]
  /// The end of a suspension by the wall clock.
  package let until: Timestamp?
  /// The control group of the only programs that a portal window is for.
  package let programs: String?
  /// The tunnel whose sign-in a portal window is for, and the only web servers that it opens; `nil`: all.
  package let signIn: String?
  package let sites: [String]?
  package let reason: String?
  /// The kind of lifetime of a suspension.
  package let lifetime: Lifetime.Word?

  package init(
    situation: Situation = .open, guards: [String] = [], blocking: [String] = [], until: Timestamp? = nil, programs: String? = nil,
    signIn: String? = nil, sites: [String]? = nil, reason: String? = nil, lifetime: Lifetime.Word? = nil
  ) {
    self.lifetime = lifetime
    self.situation = situation
    self.guards = guards
    self.blocking = blocking
    self.until = until
    self.programs = programs
    self.signIn = signIn
    self.sites = sites
    self.reason = reason
    code =
      switch situation {
      case .released: .killSwitchSuspended
      case .portal: .portalOpened
      case .open, .guarded: blocking.isEmpty ? .trafficFlows : .trafficBlocked
      }
  }

  /// The kill switch blocks traffic of a tunnel that is down.
  package var isBlocking: Bool { situation == .guarded && !blocking.isEmpty }

  private enum CodingKeys: String, DescribedKey {
    case situation, code, guards, blocking, until, programs, sites, reason, lifetime
    case signIn = "sign-in"

    var about: String {
      switch self {
      case .situation:
        "open: no kill switch is active. guarded: one blocks what its tunnels include, except through them. portal: the same, with a "
          + "window for a captive portal. released: a person has suspended it."
      case .code: "The reason as a code."
      case .guards: "The tunnels whose kill switch is active."
      case .blocking: "Those of them that are not up: what they include does not flow."
      case .until: "Time at which a suspension ends; null: no time limit."
      case .programs: "The control group of the only programs that a captive portal is open to."
      case .signIn: "The tunnel whose sign-in the window is for; null: it is for a captive portal."
      case .sites: "The only web servers that a window for a sign-in opens; null: all."
      case .reason: "The reason that a person gave for a suspension."
      case .lifetime: "The event that ends a suspension."
      }
    }
  }

  /// The text for people; `nil` if there is nothing to report.
  package var text: String? {
    let why = reason.map { " (\($0))" } ?? ""
    switch situation {
    case .open: return nil
    case .released: return "kill switch: suspended\(why), no traffic is blocked; `roamward resume` re-enables it"
    case .portal:
      let whose = programs.map { " for the programs in \($0) only" } ?? ""
      if let signIn {
        let sites = (sites ?? []).joined(separator: ", ")
        return "kill switch: window for the sign-in of \(signIn) open\(why): \(sites) outside the tunnel\(whose); "
          + "`roamward resume` closes it"
      }
      return "kill switch: portal window open\(why), the web and DNS flow outside the tunnel\(whose); `roamward resume` closes it"
    case .guarded:
      if blocking.isEmpty { return nil }
      let names = blocking.joined(separator: ", ") + (blocking.count == 1 ? " is" : " are")
      return "blocked: the kill switch blocks traffic, because \(names) not up; `roamward release` suspends it"
    }
  }
}
