import AgentCore
import AgentDaemon
import ArgumentParser
import ControlProtocol
import Glibc
import JSON
import LinuxIO
import LinuxPlatform
import NetworkTypes
import RoamwardCore

struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Show each tunnel's state, its age and its reason.")

  @OptionGroup var agent: AgentOptions
  @Flag(help: "Print JSON.") var json = false

  func run() throws {
    if !agent.isAnswering, let blocked = BlockedTraffic.current {
      write(
        json
          ? JSON(encoding: blocked.report(at: .now)).text(indented: true) + "\n"
          : "blocked: \(blocked.text); no agent is running\n         `sudo roamward release` suspends the kill switch\n")
    }
    let report = try agent.status()
    write(json ? JSON(encoding: report).text(indented: true) + "\n" : report.text)
  }
}

extension StatusReport {
  /// The output for people: problems first, then tunnels that are up.
  var text: String {
    var lines: [String] = []
    let errors = policy.problems.filter { $0.severity == "error" }
    if !errors.isEmpty {
      let force = policy.generation == 0 ? "no policy is active" : "the last known good stays active"
      lines.append("policy: \(errors.count) error\(errors.count == 1 ? "" : "s"); \(force)")
      lines += errors.map { "  \($0.file):\($0.line):\($0.column): error: \($0.message)" }
      lines += policy.standIns.map { "  " + $0.text(\.localTime) }
    }
    if isStarting { lines.append("starting: the agent is removing leftover state; no policy is active yet") }
    if let words = firewall.text { lines.append(words) }
    if let trialUntil = policy.trialUntil {
      let left = age(trialUntil - time)
      lines.append("trial: the active policies are reverted in \(left); `roamward confirm` keeps them")
    }
    lines.append(summary)
    let network = primary.link.map { link in
      let digest = (primary.network.v4 ?? primary.network.v6).map { " (\($0))" } ?? ""
      return "\(primary.type ?? "unknown") \(link)" + (primary.ssid.map { ", ssid \"\($0)\"" } ?? "") + digest
    }
    lines.append("network: \(network ?? "none")")
    if let resolver {
      lines.append("DNS backend: \(resolver.backend) (\(resolver.reason))" + (resolver.splits ? "" : "; no split DNS"))
      if let lookup = resolver.lookup { lines.append("DNS look-ups: \(lookup)") }
      if !resolver.refused.isEmpty {
        lines.append("DNS refused: names in \(resolver.refused.joined(separator: ", ")), until the tunnel is up")
      }
    }
    for tunnel in tunnels { lines += ["", tunnel.headline(at: time)] + tunnel.details(at: time).map { "  " + $0 } }
    let isSuspended = firewall.situation == .released
    for program in guards { lines += ["", program.headline(at: time)] + program.details(isSuspended: isSuspended).map { "  " + $0 } }
    if !probes.isEmpty { lines += ["", "probes:"] + probes.map { "  " + $0.line(at: time) } }
    lines += notes.filter { note in !tunnels.contains { $0.notes.contains(note) } }.map { "note: \($0)" } + others.map { "other: \($0)" }
    return lines.map { $0 + "\n" }.joined()
  }

  /// Failures first, then tunnels that are up, then those that are connecting or disconnecting.
  private var summary: String {
    let failing = tunnels.filter { $0.state != "disconnected" && $0.state != "connected" && $0.failure != nil }
    let up = tunnels.filter { $0.state == "connected" }
    let onTheWay = tunnels.filter { tunnel in ["connecting", "reasserting"].contains(tunnel.state) && !failing.contains(tunnel) }
    var lines = failing.map { tunnel in
      let retry = tunnel.timers.first { $0.what == TunnelTimer.What.retry.rawValue }.map {
        "; next attempt in \(age($0.at - time))"
      }
      return "\(tunnel.name) is \(tunnel.state); the last attempt failed: \(tunnel.failure ?? "")\(retry ?? "")"
    }
    lines += up.map { "\($0.name) is connected since \($0.since.localTime) (\(age(time - $0.since))), because \($0.reason)" }
    let armed = tunnels.filter { $0.state == "armed" && !failing.contains($0) }
    lines += armed.map { "\($0.name) is armed: comes up at the first packet, because \($0.reason)" }
    lines += onTheWay.map { "\($0.name) is \($0.state), because \($0.reason)" }
    if !lines.isEmpty { return lines.joined(separator: "\n") }
    return tunnels.isEmpty ? "no tunnel has a policy (\(policy.files) policy file\(policy.files == 1 ? "" : "s"))" : "no tunnel is up"
  }
}

extension StatusReport.Probe {
  /// `https://beacon.corp.example/: ok, answered 200, 12 s ago`.
  func line(at time: Timestamp) -> String {
    var parts = ["\(name): \(answer)", reason]
    if let answeredAt { parts.append("\(age(time - answeredAt)) ago") }
    if let nextAt { parts.append("repeated in \(age(nextAt - time))") }
    if answeredAt != nil, nextAt == nil { parts.append(isWanted ? "repeated when the network changes" : "no decision depends on it now") }
    return parts.joined(separator: ", ")
  }
}

extension StatusReport.Guard {
  fileprivate func headline(at time: Timestamp) -> String { "guard: \(escaped(program)) (process \(process)) for \(age(time - since))" }

  fileprivate func details(isSuspended: Bool) -> [String] {
    let effect = isSuspended ? "suspended, so nothing is blocked" : "all other traffic is blocked"
    let link = links.isEmpty ? "none yet; \(effect)" : links.joined(separator: ", ") + (isSuspended ? "; \(effect)" : "")
    let reach = endpoints.isEmpty ? "every address" : endpoints.joined(separator: ", ")
    return ["link:    \(link)", "outside: its own packets, to \(reach)"] + (usage.map { [$0.line] } ?? [])
  }
}

extension StatusReport.Usage {
  fileprivate var line: String {
    let processes = "\(processes) process\(processes == 1 ? "" : "es")"
    let time = RoamwardCore.text(for: .milliseconds(processorMilliseconds))
    return "uses:    \(size(memoryBytes)) of memory, \(time) of processor time, \(processes)"
  }
}

extension StatusReport.Tunnel {
  fileprivate func headline(at time: Timestamp) -> String { "\(name): \(state) for \(age(time - since))" + (isEnabled ? "" : ", disabled") }

  fileprivate func details(at time: Timestamp) -> [String] {
    // With an override, the rule does not decide.
    var lines = ["because: \(reason)" + (override == nil ? rule.map { "  (\(place($0)))" } ?? "" : "")]
    if let lookup {
      let asker = lookup.user.map { " by user \($0)" + (lookup.controlGroup.map { " in \($0)" } ?? "") } ?? ""
      lines.append("look-up: a look-up of \(lookup.name)\(asker)")
    }
    if let override {
      let reason = overrideReason.map { " (\($0))" } ?? ""
      let end = overrideUntil.map { "until \($0.localTime)" } ?? overrideEnds ?? ""
      lines.append(
        "manual:  override (\(override)) for \(age(time - (overrideSince ?? time)))\(reason), \(end); `roamward resume \(name)` ends it")
      lines.append("rules:   \(decision) (overridden)")
    }
    // The end of an override is on the override's line.
    for timer in timers where timer.what != TunnelTimer.What.overrideEnd.rawValue {
      let time = age(timer.at - time)
      lines.append("next:    \(TunnelTimer.What(rawValue: timer.what)?.text(in: time) ?? "\(timer.what) in \(time)")")
    }
    if let through { lines.append("through: \(through), which carries its packets") }
    if let link { lines.append("link:    \(link), \(engine ?? "")" + (endpoint.map { " to \($0)" } ?? "")) }
    if let lastHandshake {
      let bytes = "received \(size(receivedBytes ?? 0)), sent \(size(sentBytes ?? 0))"
      lines.append("peer:    last handshake \(age(time - lastHandshake)) ago; \(bytes)")
    }
    if let brought {
      let names = brought.matchDomains.isEmpty ? "" : " for \(brought.matchDomains.joined(separator: ", "))"
      let parts = [
        brought.addresses.isEmpty ? nil : "address \(brought.addresses.joined(separator: ", "))",
        brought.included.isEmpty ? nil : "routes \(brought.included.joined(separator: ", "))",
        brought.servers.isEmpty ? nil : "name servers \(brought.servers.joined(separator: ", "))\(names)",
      ].compactMap(\.self)
      if !parts.isEmpty { lines.append("brought: \(parts.joined(separator: "; "))") }
    }
    for question in questions { lines.append("asks:    \(question.prompt); `roamward answer \(name)`") }
    if let usage { lines.append(usage.line) }
    if let failure { lines.append("failure: \(failure)") }
    return lines + outside.map { "outside: \($0.text)" } + notes.map { "note:    \($0)" }
  }

  private func place(_ rule: RuleReport) -> String {
    "\(rule.file.split(separator: "/").last.map(String.init) ?? rule.file):\(rule.line)"
  }
}
