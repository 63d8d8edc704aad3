package import ControlProtocol
internal import NetworkTypes
internal import RoamwardCore
package import SystemdIO

/// The agent's state as objects on D-Bus. No value means the empty text or 0: D-Bus has no null.
package func objectsOnBus(_ report: StatusReport, version: String, isPortal: Bool) -> [String: BusObjects.Object] {
  var objects: [String: BusObjects.Object] = [:]
  for tunnel in report.tunnels { objects[AgentInterface.path(of: tunnel.name)] = [AgentInterface.tunnel.name: properties(of: tunnel)] }
  let firewall = report.firewall
  objects[AgentInterface.root] = [
    AgentInterface.agent.name: [
      "Version": .string(version),
      "Starting": .bool(report.isStarting),
      "Situation": .string(firewall.situation.rawValue),
      "Blocking": .bool(firewall.isBlocking),
      "BlockedBy": .strings(firewall.situation == .guarded ? firewall.blocking : []),
      "KillSwitchText": .string(firewall.text ?? ""),
      "KillSwitchUntil": .uint64(seconds(firewall.until)),
      "Link": .string(report.primary.link ?? ""),
      "LinkType": .string(report.primary.type ?? ""),
      "Ssid": .string(report.primary.ssid ?? ""),
      "CaptivePortal": .bool(isPortal),
      "PolicyErrors": .uint32(UInt32(clamping: report.policy.problems.count { $0.severity == "error" })),
      "TrialUntil": .uint64(seconds(report.policy.trialUntil)),
      "ProxyAddress": .string(report.proxies?.address ?? ""),
      "ProxyEnvironment": .strings(report.proxies?.environment ?? []),
      "Tunnels": .array(of: "o", report.tunnels.map { .path(AgentInterface.path(of: $0.name)) }),
    ]
  ]
  return objects
}

private func properties(of tunnel: StatusReport.Tunnel) -> [String: BusArgument] {
  [
    "Name": .string(tunnel.name),
    "State": .string(tunnel.state),
    "Since": .uint64(seconds(tunnel.since)),
    "Enabled": .bool(tunnel.isEnabled),
    "Wanted": .bool(tunnel.isWanted),
    "Decision": .string(tunnel.decision.rawValue),
    "Reason": .string(tunnel.reason),
    "ReasonCode": .string(tunnel.code.rawValue),
    "Failure": .string(tunnel.failure ?? ""),
    "FailureCode": .string(tunnel.failureCode?.rawValue ?? ""),
    "Override": .string(tunnel.override ?? ""),
    "OverrideLifetime": .string(tunnel.overrideLifetime?.rawValue ?? ""),
    "OverrideUntil": .uint64(seconds(tunnel.overrideUntil)),
    "Link": .string(tunnel.link ?? ""),
    "Endpoint": .string(tunnel.endpoint ?? ""),
    "Through": .string(tunnel.through ?? ""),
    "Questions": .array(
      of: "(uss)",
      tunnel.questions.map { .structure([.uint32(UInt32(clamping: $0.number)), .string($0.kind), .string($0.prompt)]) }),
  ]
}

/// Seconds since 1970; 0: none.
private func seconds(_ time: Timestamp?) -> UInt64 { time.map { UInt64(clamping: $0.milliseconds / 1000) } ?? 0 }

/// An event as a signal; `nil`: properties announce it, or it is not for every user.
package func signalOnBus(_ event: Event.Kind) -> (path: String, interface: String, name: String, arguments: [BusArgument])? {
  func ofTunnel(_ tunnel: String, _ name: String, _ arguments: BusArgument...) -> (String, String, String, [BusArgument]) {
    (AgentInterface.path(of: tunnel), AgentInterface.tunnel.name, name, arguments)
  }
  switch event {
  case .state(let tunnel, let from, let to, let code, let reason):
    return ofTunnel(tunnel, "StateChanged", .string(from), .string(to), .string(code.rawValue), .string(reason))
  case .failure(let tunnel, let failure): return ofTunnel(tunnel, "Failed", .string(failure.code.rawValue), .string(failure.description))
  case .question(let tunnel, let number, let kind, let prompt):
    return ofTunnel(tunnel, "Question", .uint32(UInt32(clamping: number)), .string(kind), .string(prompt))
  case .warning(let note):
    let arguments: [BusArgument] = [.string(note.tunnel ?? ""), .string(note.code.rawValue), .string(note.description)]
    return (AgentInterface.root, AgentInterface.agent.name, "Warning", arguments)
  default: return nil
  }
}
