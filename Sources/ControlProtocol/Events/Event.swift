package import JSON
package import NetworkTypes
package import RoamwardCore

/// Something that happened, in the agent's own terms. `EventReport` is its form for others.
package struct Event: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// The rules' verdict on a tunnel is another one, or has another reason.
    case decision(tunnel: String, outcome: String, rule: Int?, name: String? = nil, code: ReasonCode, reason: String)
    /// The tunnel has come to another state.
    case state(tunnel: String, from: String, to: String, code: ReasonCode, reason: String)
    /// An attempt to bring a tunnel up, or one that was up, has failed. When it is tried again is told as a timer.
    case failure(tunnel: String, TunnelFailure)
    /// What a person said; `nil`: nothing any more, or that it is over. `isSaid`: by a person just now.
    case override(tunnel: String, OverrideRequest?, isSaid: Bool)
    /// Something will happen to a tunnel by itself at this time; `nil`: it will not any more.
    case timer(tunnel: String, String, at: Timestamp?, inMilliseconds: Int64?)
    /// The primary link is another one, or its network; `nil`: there is none.
    case network(link: String?, type: String?, ssid: String?)
    /// A new set is in force, or (with errors) was refused.
    case policy(generation: Int, errors: Int, warnings: Int)
    /// What the firewall holds back is something else.
    case firewall(FirewallStatus)
    /// What another program had changed of ours was repaired, so often in a burst; with the tunnel where it was a tunnel's link.
    case repair(tunnel: String?, reason: ReasonCode, count: Int)
    /// What people should know; told once, while it lasts.
    case warning(Remark)
    /// The network as it was seen, in the form of a snapshot file.
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
  /// Why it happened; `nil` where nothing but a look has.
  package var code: ReasonCode? {
    switch self {
    case .decision(_, _, _, _, let code, _), .state(_, _, _, let code, _), .repair(_, let code, _): code
    case .failure(_, let failure): failure.code
    case .override(_, let override, _): override == nil ? .overrideEnded : .manualOverride
    case .timer: .scheduled
    case .network(let link, _, _): link == nil ? .noNetwork : .networkChanged
    case .policy(_, let errors, _): errors == 0 ? .policyLoaded : .policyRefused
    case .firewall(let status): status.code
    case .warning(let note): note.code
    case .snapshot: nil
    }
  }

  /// The tunnel that it happened to; `nil`: none alone.
  package var tunnel: String? {
    switch self {
    case .decision(let tunnel, _, _, _, _, _), .state(let tunnel, _, _, _, _), .failure(let tunnel, _), .override(let tunnel, _, _),
      .timer(let tunnel, _, _, _):
      tunnel
    case .repair(let tunnel, _, _): tunnel
    case .warning(let note): note.tunnel
    case .network, .policy, .firewall, .snapshot: nil
    }
  }

  fileprivate var happening: any Happening {
    switch self {
    case .decision(let tunnel, let outcome, let rule, let name, _, let reason):
      DecisionEvent(tunnel: tunnel, decision: outcome, rule: rule, name: name, reason: reason)
    case .state(let tunnel, let from, let to, _, let reason): StateEvent(tunnel: tunnel, from: from, to: to, reason: reason)
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
    }
  }
}
