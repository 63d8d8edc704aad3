package import ControlProtocol
package import Metrics
internal import NetworkTypes
internal import RoamwardCore

/// The metrics of an agent. No label names a place, an address or a person: tunnels by the names of their policies, all else by words of
/// fixed sets.
package enum AgentMetrics {
  /// Without an agent there is only `roamward_up`, which is 0.
  package static func families(_ report: MetricsReport?, version: String) -> [MetricFamily] {
    var up = MetricFamily("roamward_up", .gauge, "Whether the agent answers.")
    up.add(report == nil ? 0 : 1)
    guard let report else { return [up] }
    return [up] + process(report, version: version) + tunnels(report.status.tunnels) + groups(report.status.groups) + machine(report.status)
      + events(report.counts)
      + work(report.status.counters)
  }

  private static func process(_ report: MetricsReport, version: String) -> [MetricFamily] {
    var build = MetricFamily("roamward_build", .info, "The version of Roamward.")
    build.add(1, ["version": version])
    var start = MetricFamily("roamward_start_time_seconds", .gauge, "Time at which the agent started.")
    start.add(milliseconds: report.started.milliseconds)
    return [build, start]
  }

  private static func tunnels(_ tunnels: [StatusReport.Tunnel]) -> [MetricFamily] {
    var state = MetricFamily("roamward_tunnel_state", .gauge, "The state of a tunnel: 1 for the present one, 0 for the others.")
    var since = MetricFamily("roamward_tunnel_state_since_seconds", .gauge, "Time at which a tunnel entered its state.")
    var wanted = MetricFamily("roamward_tunnel_wanted", .gauge, "Whether rules or a person want a tunnel up.")
    var failing = MetricFamily("roamward_tunnel_failing", .gauge, "Whether the last attempt of a tunnel failed, and it is not up.")
    var overridden = MetricFamily("roamward_tunnel_overridden", .gauge, "Whether a manual override decides on a tunnel.")
    var handshake = MetricFamily("roamward_tunnel_last_handshake_seconds", .gauge, "Time of the newest handshake with a peer.")
    var received = MetricFamily("roamward_tunnel_received_bytes", .counter, "Bytes received from the peers of a tunnel's link.")
    var sent = MetricFamily("roamward_tunnel_sent_bytes", .counter, "Bytes sent to the peers of a tunnel's link.")
    var routes = MetricFamily("roamward_tunnel_routes", .gauge, "Prefixes that the kernel routes into a tunnel.")
    var mtu = MetricFamily("roamward_tunnel_mtu_bytes", .gauge, "The MTU of a tunnel's link.")
    var memory = MetricFamily("roamward_tunnel_memory_bytes", .gauge, "Memory that the programs of a tunnel use.")
    for tunnel in tunnels {
      for word in TunnelMachine.State.statuses { state.add(word == tunnel.state ? 1 : 0, ["tunnel": tunnel.name, "state": word]) }
      since.add(milliseconds: tunnel.since.milliseconds, ["tunnel": tunnel.name])
      wanted.add(tunnel.isWanted ? 1 : 0, ["tunnel": tunnel.name])
      failing.add(tunnel.failure != nil && !tunnel.isUp ? 1 : 0, ["tunnel": tunnel.name])
      overridden.add(tunnel.override == nil ? 0 : 1, ["tunnel": tunnel.name])
      if let moment = tunnel.lastHandshake { handshake.add(milliseconds: moment.milliseconds, ["tunnel": tunnel.name]) }
      if let bytes = tunnel.receivedBytes { received.add(bytes, ["tunnel": tunnel.name]) }
      if let bytes = tunnel.sentBytes { sent.add(bytes, ["tunnel": tunnel.name]) }
      if tunnel.link != nil { routes.add(Int64(tunnel.routeCount), ["tunnel": tunnel.name]) }
      if let bytes = tunnel.mtu { mtu.add(Int64(bytes), ["tunnel": tunnel.name]) }
      if let usage = tunnel.usage { memory.add(usage.memoryBytes, ["tunnel": tunnel.name]) }
    }
    return [state, since, wanted, failing, overridden, handshake, received, sent, routes, mtu, memory]
  }

  private static func groups(_ groups: [GroupReport]) -> [MetricFamily] {
    var inUse = MetricFamily("roamward_group_in_use", .gauge, "Whether a tunnel is the one of its group that is in use.")
    for group in groups {
      for member in group.members { inUse.add(member.role == .inUse ? 1 : 0, ["group": group.name, "tunnel": member.tunnel]) }
    }
    return groups.isEmpty ? [] : [inUse]
  }

  private static func machine(_ status: StatusReport) -> [MetricFamily] {
    var blocked = MetricFamily("roamward_blocked", .gauge, "Whether the kill switch blocks the traffic of a tunnel that is not up.")
    // Guards of programs have no policy: their names are those of programs and processes.
    for tunnel in status.tunnels where status.firewall.guards.contains(tunnel.name) {
      blocked.add(status.firewall.isBlocking && status.firewall.blocking.contains(tunnel.name) ? 1 : 0, ["tunnel": tunnel.name])
    }
    var situation = MetricFamily("roamward_kill_switch", .gauge, "The state of the kill switch: 1 for the present one.")
    for word in FirewallStatus.Situation.allCases { situation.add(word == status.firewall.situation ? 1 : 0, ["state": word.rawValue]) }
    var problems = MetricFamily("roamward_policy_problems", .gauge, "Errors and warnings in policy files.")
    for severity in ["error", "warning"] {
      problems.add(Int64(status.policy.problems.count { $0.severity == severity }), ["severity": severity])
    }
    var files = MetricFamily("roamward_policy_files", .gauge, "Policy files that were read.")
    files.add(Int64(status.policy.files))
    var trial = MetricFamily("roamward_policy_trial", .gauge, "Whether policies are on trial.")
    trial.add(status.policy.trialUntil == nil ? 0 : 1)
    var notes = MetricFamily("roamward_notes", .gauge, "Notes about policies that cannot be fulfilled, by reason.")
    let codes = Dictionary(grouping: status.notes + status.tunnels.flatMap(\.notes).filter { !status.notes.contains($0) }, by: \.code)
    for (code, group) in codes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      notes.add(Int64(group.count), ["reason": code.rawValue])
    }
    var network = MetricFamily("roamward_network_present", .gauge, "Whether the machine is on a network.")
    network.add(status.primary.link == nil ? 0 : 1)
    var guards = MetricFamily("roamward_guards", .gauge, "Programs that run under `roamward guard`.")
    guards.add(Int64(status.guards.count))
    return [blocked, situation, problems, files, trial, notes, network, guards]
  }

  private static func events(_ counts: [MetricsReport.Count]) -> [MetricFamily] {
    EventCounts.Subject.allCases.map { subject in
      let names = subject.names
      var family = MetricFamily("roamward_\(names.metric)", .counter, names.help)
      for count in counts where count.subject == subject {
        if let tunnel = count.tunnel {
          family.add(count.number, ["tunnel": tunnel, names.label: count.detail])
        } else {
          family.add(count.number, [names.label: count.detail])
        }
      }
      return family
    }
  }

  private static func work(_ counters: StatusReport.Counters) -> [MetricFamily] {
    let all: [(String, Int, String)] = [
      ("kernel_events", counters.events, "Kernel events that reached the agent."),
      ("kernel_overflows", counters.overflows, "Number of times that kernel events were lost and everything was read again."),
      ("observations", counters.observations, "Observations of the machine; each report makes one too."),
      ("evaluations", counters.evaluations, "Rule evaluations."),
      ("plans", counters.plans, "Comparisons of observed and desired state."),
      ("steps", counters.steps, "Steps that changed the machine."),
      ("repair_steps", counters.repairs, "Steps that repaired what another program had changed."),
      ("polls", counters.polls, "Reads of a single WireGuard device, to see its last handshake."),
    ]
    return all.map { name, value, help in
      var family = MetricFamily("roamward_\(name)", .counter, help)
      family.add(Int64(value))
      return family
    }
  }
}

extension EventCounts.Subject {
  /// The metric without `roamward_` and `_total`, the label of the detail, and a sentence.
  fileprivate var names: (metric: String, label: String, help: String) {
    switch self {
    case .state: ("tunnel_changes", "state", "State changes of a tunnel, by the state that it entered.")
    case .failure: ("tunnel_failures", "reason", "Failed attempts and failures of a tunnel that was up.")
    case .decision: ("decisions", "decision", "Changes of the decision on a tunnel, or of its reason.")
    case .override: ("overrides", "override", "Manual overrides that were set or have ended.")
    case .lookup: ("lookups", "reason", "Look-ups of names that started a tunnel.")
    case .policy: ("policy_loads", "reason", "Policy sets that took force, or were refused.")
    case .firewall: ("kill_switch_changes", "reason", "Changes of what the kill switch blocks.")
    case .repair: ("repairs", "reason", "Repairs of changes by another program, when a burst is over.")
    case .warning: ("warnings", "reason", "Problems that were reported.")
    case .network: ("network_changes", "reason", "Changes of the primary link or its network.")
    case .probe: ("probes", "answer", "Answers of the network to probes.")
    case .wake: ("wakeups", "reason", "Wake-ups of the agent.")
    }
  }
}
