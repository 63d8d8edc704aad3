/// What the firewall holds back, in the terms of docs/security.md.
package struct FirewallStatus: Hashable, Sendable {
  package enum Situation: String, Hashable, Sendable {
    /// No kill switch is active.
    case open
    /// A kill switch blocks what its tunnels include, except through them.
    case guarded
    /// The same, with a window for a captive portal.
    case portal
    /// A person has suspended the kill switch.
    case released
  }

  package var situation: Situation
  /// Tunnels that guard what they include.
  package var guards: [String]
  /// Those of them that are not up: what they include does not flow at all.
  package var blocking: [String]
  /// When a release ends by the clock, in seconds since 1970.
  package var until: Int64?
  /// The control group of the only programs that a portal is open to.
  package var programs: String?
  package var reason: String?
  /// How a suspension ends: `network`, `time` or `resume`.
  package var lifetime: String?

  /// The kill switch blocks traffic of a tunnel that is down.
  package var isBlocking: Bool { situation == .guarded && !blocking.isEmpty }

  package init(
    situation: Situation = .open, guards: [String] = [], blocking: [String] = [], until: Int64? = nil, programs: String? = nil,
    reason: String? = nil, lifetime: String? = nil
  ) {
    self.lifetime = lifetime
    self.situation = situation
    self.guards = guards
    self.blocking = blocking
    self.until = until
    self.programs = programs
    self.reason = reason
  }

  package var json: JSON {
    [
      "situation": .string(situation.rawValue), "guards": JSON(guards), "blocking": JSON(blocking),
      "until": until.map { .integer($0) } ?? .null, "programs": JSON(programs), "reason": JSON(reason),
      "lifetime": JSON(lifetime),
    ]
  }

  package init(_ json: JSON) {
    func names(_ key: String) -> [String] { (json[key]?.array ?? []).compactMap(\.string) }
    self.init(
      situation: json["situation"]?.string.flatMap(Situation.init) ?? .open, guards: names("guards"), blocking: names("blocking"),
      until: json["until"]?.integer, programs: json["programs"]?.string, reason: json["reason"]?.string,
      lifetime: json["lifetime"]?.string)
  }

  /// For people; `nil` where there is nothing to say.
  package var words: String? {
    let why = reason.map { " (\($0))" } ?? ""
    switch situation {
    case .open: return nil
    case .released: return "firewall: released by hand\(why), nothing is held back; `roamward resume` ends it"
    case .portal:
      let whose = programs.map { " of the programs in \($0), and nobody else's," } ?? ""
      return "firewall: open for a captive portal\(why): the web and DNS\(whose) flow outside the tunnel; `roamward resume` ends it"
    case .guarded:
      if blocking.isEmpty { return nil }
      let names = blocking.joined(separator: ", ")
      return
        "blocked: what goes through \(names) does not flow, because \(blocking.count == 1 ? "it is" : "they are") not up; `roamward release` opens it"
    }
  }
}
