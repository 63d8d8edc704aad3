package import JSON
package import NetworkTypes
package import RoamwardCore

/// An event in the agent's own terms. `EventReport` is its external form.
package struct Event: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// The decision on a tunnel, or its reason, has changed.
    case decision(tunnel: String, outcome: String, rule: Int?, name: String? = nil, code: ReasonCode, reason: String)
    /// A tunnel has changed its state.
    case state(tunnel: String, from: String, to: String, code: ReasonCode, reason: String)
    /// A program's look-up of a name starts a tunnel.
    case lookup(NameLookup)
    /// Addresses of a name get routes, because the name is in a domain of the tunnel's policy.
    case nameRoute(tunnel: String, name: DomainName, NameWay, [IPAddress])
    /// An attempt to start a tunnel, or a connected tunnel, has failed. The time of the next attempt is reported as a timer.
    case failure(tunnel: String, TunnelFailure)
    /// A manual override has been set or has changed; `nil`: it was ended or is over. `isSaid`: by a person just now.
    case override(tunnel: String, OverrideRequest?, isSaid: Bool)
    /// A timer of a tunnel: an action that will follow at this time; `nil`: it will not follow any more.
    case timer(tunnel: String, String, at: Timestamp?, inMilliseconds: Int64?)
    /// The primary link or its network has changed; `nil`: there is none.
    case network(link: String?, type: String?, ssid: String?)
    /// A new policy set is active, or was rejected (with errors).
    case policy(generation: Int, errors: Int, warnings: Int)
    /// The kill switch blocks something else than before.
    case firewall(FirewallStatus)
    /// Changes by another program were repaired, this many in a burst; with the tunnel if a tunnel's link was changed.
    case repair(tunnel: String?, reason: ReasonCode, count: Int)
    /// A note for people; sent once, while it lasts.
    case warning(Remark)
    /// A line of the log of a tunnel's provider.
    case providerLog(tunnel: String, level: String, origin: String, text: String)
    /// An event of a tunnel's provider, in its own terms.
    case provider(tunnel: String, name: String, JSON)
    /// A tunnel's provider asks a person.
    case question(tunnel: String, number: Int, kind: String, prompt: String)
    /// The observed network, in the form of a snapshot file.
    case snapshot(JSON)
  }

  package var time: Timestamp
  package var kind: Kind

  package init(time: Timestamp, kind: Kind) {
    self.time = time
    self.kind = kind
  }

  package var report: EventReport { EventReport(time: time, code: kind.code, happening: kind.happening) }
}

extension Event.Kind {
  /// The reason; `nil` if only an observation caused the event.
  package var code: ReasonCode? {
    switch self {
    case .decision(_, _, _, _, let code, _), .state(_, _, _, let code, _), .repair(_, let code, _): code
    case .failure(_, let failure): failure.code
    case .lookup: .lookup
    case .override(_, let override, _): override == nil ? .overrideEnded : .manualOverride
    case .timer: .scheduled
    case .network(let link, _, _): link == nil ? .noNetwork : .networkChanged
    case .policy(_, let errors, _): errors == 0 ? .policyLoaded : .policyRefused
    case .firewall(let status): status.code
    case .warning(let note): note.code
    case .snapshot, .providerLog, .provider, .nameRoute: nil
    case .question: .actionNeeded
    }
  }

  /// The tunnel that the event is about; `nil`: no single one.
  package var tunnel: String? {
    switch self {
    case .decision(let tunnel, _, _, _, _, _), .state(let tunnel, _, _, _, _), .failure(let tunnel, _), .override(let tunnel, _, _),
      .timer(let tunnel, _, _, _), .providerLog(let tunnel, _, _, _), .provider(let tunnel, _, _), .nameRoute(let tunnel, _, _, _),
      .question(let tunnel, _, _, _):
      tunnel
    case .repair(let tunnel, _, _): tunnel
    case .lookup(let lookup): lookup.tunnel
    case .warning(let note): note.tunnel
    case .network, .policy, .firewall, .snapshot: nil
    }
  }

  /// Whether the event tells what another user's programs do, or what a provider logs: it is for root, the agent's own user and the group
  /// `roamward`.
  package var isAboutOthers: Bool {
    switch self {
    case .lookup, .nameRoute, .providerLog, .provider: true
    default: false
    }
  }

  fileprivate var happening: any Happening {
    switch self {
    case .decision(let tunnel, let outcome, let rule, let name, _, let reason):
      DecisionEvent(tunnel: tunnel, decision: outcome, rule: rule, name: name, reason: reason)
    case .state(let tunnel, let from, let to, _, let reason): StateEvent(tunnel: tunnel, from: from, to: to, reason: reason)
    case .lookup(let lookup):
      LookupEvent(
        tunnel: lookup.tunnel, name: lookup.name, user: lookup.asker.map { Int64($0.user) }, controlGroup: lookup.asker?.controlGroup)
    case .nameRoute(let tunnel, let name, let way, let addresses):
      NameRouteEvent(tunnel: tunnel, name: name.text, way: way.rawValue, addresses: addresses.map(\.description))
    case .failure(let tunnel, let failure): FailureEvent(tunnel: tunnel, reason: failure.description)
    case .override(let tunnel, let override, let isSaid):
      OverrideEvent(
        tunnel: tunnel, override: override.map { $0.wantsUp ? "up" : "down" }, isSaid: isSaid, lifetime: override?.until.word,
        milliseconds: override?.until.duration?.milliseconds, reason: override?.reason)
    case .timer(let tunnel, let what, let at, let milliseconds):
      TimerEvent(tunnel: tunnel, timer: what, at: at, milliseconds: milliseconds)
    case .network(let link, let type, let ssid): NetworkEvent(link: link, type: type, ssid: ssid)
    case .policy(let generation, let errors, let warnings): PolicyEvent(generation: generation, errors: errors, warnings: warnings)
    case .firewall(let status): FirewallEvent(firewall: status)
    case .repair(let tunnel, _, let count): RepairEvent(tunnel: tunnel, count: count)
    case .warning(let note): WarningEvent(tunnel: note.tunnel, message: note.description)
    case .snapshot(let network): SnapshotEvent(network: network)
    case .providerLog(let tunnel, let level, let origin, let text):
      ProviderLogEvent(tunnel: tunnel, level: level, origin: origin, text: text)
    case .question(let tunnel, let number, let kind, let prompt):
      QuestionEvent(tunnel: tunnel, number: number, kind: kind, prompt: prompt)
    case .provider(let tunnel, let name, let data): ProviderEvent(tunnel: tunnel, name: name, data: data)
    }
  }
}
