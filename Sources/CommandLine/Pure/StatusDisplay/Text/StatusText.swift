package import ControlProtocol
package import NetworkTypes
internal import RoamwardCore

/// `roamward status` for people: problems first, then tunnels that are up, then each tunnel in detail.
package struct StatusText {
  let report: StatusReport
  /// The present moment: that of the report, or later.
  let time: Timestamp
  let localTime: (Timestamp) -> String

  package init(_ report: StatusReport, at time: Timestamp? = nil, localTime: @escaping (Timestamp) -> String) {
    self.report = report
    self.time = time ?? report.time
    self.localTime = localTime
  }

  package var lines: [StyledLine] {
    policyTrouble + agentState + summary + network + sections
  }

  private func text(of tunnel: StatusReport.Tunnel) -> TunnelText {
    TunnelText(tunnel: tunnel, isBlocked: report.firewall.isBlocking, time: time, localTime: localTime)
  }

  /// The lines of one tunnel; `nil`: no policy describes it.
  package func lines(ofTunnel name: String) -> [StyledLine]? {
    report.tunnels.first { $0.name == name }.map { text(of: $0).lines }
  }

  private var policyTrouble: [StyledLine] {
    let errors = report.policy.problems.filter { $0.severity == "error" }
    if errors.isEmpty { return [] }
    let force = report.policy.generation == 0 ? "no policy is active" : "the last known good stays active"
    var lines = [StyledLine("policy: \(errors.count) error\(errors.count == 1 ? "" : "s"); \(force)", .bad)]
    lines += errors.map { StyledLine("  \($0.file):\($0.line):\($0.column): ", hang: 4).adding("error:", .bad).adding(" \($0.message)") }
    return lines + report.policy.replacedFiles.map { StyledLine("  " + $0.text(localTime), hang: 4) }
  }

  private var agentState: [StyledLine] {
    var lines: [StyledLine] = []
    if report.isStarting {
      lines.append(StyledLine("starting: the agent is removing leftover state; no policy is active yet", .busy, hang: 2))
    }
    if let words = report.firewall.text { lines.append(StyledLine(words, report.firewall.isBlocking ? .bad : .busy, hang: 2)) }
    if let trialUntil = report.policy.trialUntil {
      let left = age(trialUntil - time)
      lines.append(
        StyledLine("trial: the active policies are reverted in \(left); `roamward confirm` keeps them", .busy, hang: 2))
    }
    return lines
  }

  /// Failures first, then problems of the machine, then tunnels that are up, then those that are connecting or disconnecting.
  private var summary: [StyledLine] {
    let failing = report.tunnels.filter(\.isFailing)
    var lines = failing.map { tunnel in
      let retry = tunnel.timers.first { $0.what == TunnelTimer.What.retry.rawValue }.map { "; next attempt in \(age($0.at - time))" }
      return StyledLine("\(tunnel.name) is \(tunnel.state); the last attempt failed: ", .bad, hang: 2)
        .adding("\(tunnel.failure ?? "")\(retry ?? "")")
    }
    lines += machineNotes.filter(\.code.isTrouble).map { StyledLine("note: ", .bad, hang: 2).adding("\($0)") }
    let troubles = lines.count
    let others = report.tunnels.filter { !failing.contains($0) }
    lines += others.filter { $0.state == "connected" }.map { tunnel in
      StyledLine("\(tunnel.name) is ", hang: 2).adding("connected", .good)
        .adding(
          " since \(localTime(tunnel.since)) (\(time - tunnel.since < .seconds(1) ? "just now" : age(time - tunnel.since))), because \(tunnel.reason)"
        )
    }
    lines += others.filter { $0.state == "armed" }.map { tunnel in
      StyledLine("\(tunnel.name) is ", hang: 2).adding("armed", .good).adding(": comes up at the first packet, because \(tunnel.reason)")
    }
    lines += others.filter { ["connecting", "reasserting"].contains($0.state) }.map { tunnel in
      StyledLine("\(tunnel.name) is ", hang: 2).adding(tunnel.state, .busy).adding(", because \(tunnel.reason)")
    }
    if lines.count > troubles || !failing.isEmpty { return lines }
    let files = report.policy.files
    let none = report.tunnels.isEmpty ? "no tunnel has a policy (\(files) policy file\(files == 1 ? "" : "s"))" : "no tunnel is up"
    return lines + [StyledLine(none)]
  }

  private var network: [StyledLine] {
    let primary = report.primary
    let words = primary.link.map { link in
      let digest = (primary.network.v4 ?? primary.network.v6).map { ", identity \($0)" } ?? ""
      return "\(primary.type ?? "unknown") \(link)" + (primary.ssid.map { ", ssid \"\($0)\"" } ?? "") + digest
    }
    var lines = [StyledLine("network: ", .strong, hang: 2).adding(words ?? "none")]
    if let proxies = report.proxies {
      lines.append(
        StyledLine("proxies: ", .strong, hang: 2)
          .adding("\(proxies.text); \(proxies.address), published to \(proxies.publish.joined(separator: ", "))"))
    }
    guard let resolver = report.resolver else { return lines }
    lines.append(
      StyledLine("DNS backend: ", .strong, hang: 2)
        .adding("\(resolver.backend) (\(resolver.reason))" + (resolver.splits ? "" : "; no split DNS")))
    if let lookup = resolver.lookup { lines.append(StyledLine("DNS look-ups: ", .strong, hang: 2).adding(lookup)) }
    if !resolver.refused.isEmpty {
      let names = resolver.refused.joined(separator: ", ")
      lines.append(StyledLine("DNS refused: ", .strong, hang: 2).adding("names in \(names), until the tunnel is up"))
    }
    lines += resolver.withheld.map {
      StyledLine("DNS withheld: ", .busy, hang: 2).adding("\($0.text), \(ago(time - $0.at)); cure: \($0.cure)")
    }
    return lines
  }

  /// Each tunnel, those with a failure first; then guards, probes and notes.
  private var sections: [StyledLine] {
    let tunnels = report.tunnels.filter(\.isFailing) + report.tunnels.filter { !$0.isFailing }
    var lines = tunnels.flatMap { [StyledLine()] + text(of: $0).lines }
    let isSuspended = report.firewall.situation == .released
    for program in report.guards { lines += [StyledLine()] + program.lines(at: time, isSuspended: isSuspended) }
    for program in report.programs { lines += [StyledLine()] + program.lines }
    lines += report.endedPrograms.map {
      StyledLine("programs through \($0.tunnel) have ended: ", .strong, hang: 2).adding($0.effect(at: time))
    }
    if !report.probes.isEmpty {
      lines += [StyledLine(), StyledLine("probes:", .strong)]
      lines += report.probes.map { StyledLine("  " + $0.line(at: time), hang: 4) }
    }
    lines += machineNotes.filter { !$0.code.isTrouble }.map { StyledLine("note: ", .busy, hang: 2).adding("\($0)") }
    return lines + report.others.map { StyledLine("other: ", .strong, hang: 2).adding($0) }
  }

  /// Records that no tunnel's section has.
  private var machineNotes: [RemarkReport] {
    report.notes.filter { note in !report.tunnels.contains { $0.notes.contains(note) } }
  }
}

extension ReasonCode {
  /// Whether a note with this code is about something that does not work, and not about a limit of a policy.
  var isTrouble: Bool {
    switch self {
    case .trouble, .conflict, .firewallUnavailable, .stopTimeout: true
    default: false
    }
  }
}

extension StatusReport.Tunnel {
  /// Whether the last attempt failed, and the tunnel is not up meanwhile.
  package var isFailing: Bool { state != "disconnected" && state != "connected" && failure != nil }

  /// Whether the tunnel carries packets, or will at the first one.
  package var isUp: Bool { state == "connected" || state == "armed" }
}

extension StatusReport.Probe {
  /// `https://beacon.corp.example/: ok, answered 200, 12 s ago`.
  package func line(at time: Timestamp) -> String {
    var parts = ["\(name): \(answer)", reason]
    if let answeredAt { parts.append(ago(time - answeredAt)) }
    if let nextAt { parts.append("repeated in \(age(nextAt - time))") }
    if answeredAt != nil, nextAt == nil { parts.append(isWanted ? "repeated when the network changes" : "no decision depends on it now") }
    return parts.joined(separator: ", ")
  }
}

extension StatusReport.Guard {
  fileprivate func lines(at time: Timestamp, isSuspended: Bool) -> [StyledLine] {
    if let heldSince {
      let effect = isSuspended ? "suspended, so nothing is blocked" : "all traffic is blocked"
      return [
        StyledLine("guard: \(program) (process \(process)) was killed \(age(time - heldSince)) ago", .strong, hang: 2),
        StyledLine("  \(effect); `roamward release` ends the guard", hang: 2),
      ]
    }
    let effect = isSuspended ? "suspended, so nothing is blocked" : "all other traffic is blocked"
    let link = links.isEmpty ? "none yet; \(effect)" : links.joined(separator: ", ") + (isSuspended ? "; \(effect)" : "")
    let reach = endpoints.isEmpty ? "every address" : endpoints.joined(separator: ", ")
    let details = ["link:    \(link)", "outside: its own packets, to \(reach)"] + (usage.map { [$0.line] } ?? [])
    return [StyledLine("guard: \(program) (process \(process)) \(lasting(time - since))", .strong, hang: 2)]
      + details.map { StyledLine("  \($0)", hang: 11) }
  }
}

extension ProgramReport {
  /// A heading, and what becomes of their packets.
  fileprivate var lines: [StyledLine] {
    let route =
      tunnel.map { tunnel in link.map { "leave by \($0) alone" } ?? "are blocked, because \(tunnel) is down" }
      ?? "leave outside of every tunnel, past kill switches"
    let details = ["packets: \(route)", "group:   \(escaped(group))"] + (usage.map { [$0.line] } ?? [])
    return [StyledLine("programs \(tunnel.map { "through \($0)" } ?? "outside") (user \(user))", .strong, hang: 2)]
      + details.map { StyledLine("  \($0)", hang: 11) }
  }
}

extension EndedProgramsReport {
  fileprivate func effect(at time: Timestamp) -> String {
    "what the kernel still sends for them leaves by \(tunnel) or not at all, for \(age(until - time)) more"
  }
}

extension StatusReport.Usage {
  var line: String {
    let processes = "\(processes) process\(processes == 1 ? "" : "es")"
    let time = RoamwardCore.text(for: .milliseconds(processorMilliseconds))
    return "uses:    \(size(memoryBytes)) of memory, \(time) of processor time, \(processes)"
  }
}
