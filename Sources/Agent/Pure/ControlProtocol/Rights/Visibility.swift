import RoamwardCore

/// The part of reports and events that a user may know of: all but the tunnels that belong to other users.
package struct Visibility: Equatable, Sendable {
  /// The names of those tunnels; empty: everything is shown.
  package let hidden: Set<String>

  package init(hiding hidden: Set<String>) { self.hidden = hidden }

  /// The report without them.
  package func shown(_ whole: StatusReport) -> StatusReport {
    if hidden.isEmpty { return whole }
    var report = whole
    report.tunnels.removeAll { hidden.contains($0.name) }
    for i in report.tunnels.indices where isHidden(report.tunnels[i].through) { report.tunnels[i].through = nil }
    report.groups.removeAll { $0.members.contains { hidden.contains($0.tunnel) } }
    report.programs.removeAll { isHidden($0.tunnel) }
    report.endedPrograms.removeAll { hidden.contains($0.tunnel) }
    report.notes.removeAll { isHidden($0.tunnel) || $0.tunnel == nil && names(one: $0.text) }
    report.policy.problems.removeAll { names(one: $0.message) || names(one: $0.file) }
    report.policy.replacedFiles.removeAll { $0.file.map(names(one:)) ?? false }
    report.resolver?.withheld.removeAll { hidden.contains($0.tunnel) }
    report.firewall = shown(whole.firewall)
    if isHidden(whole.proxies?.tunnel) { report.proxies = nil }
    if isHidden(whole.lastWake?.tunnel) { report.lastWake?.tunnel = nil }
    if isHidden(whole.nextWake?.tunnel) { report.nextWake?.tunnel = nil }
    return report
  }

  /// The same kill switch, with other words in the place of their names.
  package func shown(_ firewall: FirewallStatus) -> FirewallStatus {
    if hidden.isEmpty { return firewall }
    func shown(_ names: [String]) -> [String] {
      let rest = names.filter { !hidden.contains($0) }
      return rest.count == names.count ? names : rest + ["another user's tunnel"]
    }
    return FirewallStatus(
      situation: firewall.situation, guards: shown(firewall.guards), blocking: shown(firewall.blocking), until: firewall.until,
      programs: firewall.programs, signIn: isHidden(firewall.signIn) ? nil : firewall.signIn, sites: firewall.sites,
      reason: firewall.reason,
      lifetime: firewall.lifetime)
  }

  /// The metrics without them.
  package func shown(_ whole: MetricsReport) -> MetricsReport {
    var report = whole
    report.status = shown(whole.status)
    report.counts.removeAll { isHidden($0.tunnel) }
    return report
  }

  /// The event; `nil`: it is about one of them.
  package func shown(_ event: Event.Kind) -> Event.Kind? {
    if hidden.isEmpty { return event }
    if isHidden(event.tunnel) { return nil }
    if case .firewall(let status) = event { return .firewall(shown(status)) }
    if case .warning(let remark) = event, names(one: remark.description) { return nil }
    return event
  }

  private func isHidden(_ tunnel: String?) -> Bool { tunnel.map(hidden.contains) ?? false }

  /// Whether one of their names stands in the text, alone or as a part of a file's or a link's name: not inside another word, or a
  /// tunnel called `c` would hide nearly everything.
  private func names(one text: String) -> Bool {
    func continues(_ letter: Character?) -> Bool { letter.map { $0.isLetter || $0.isNumber } ?? false }
    return hidden.contains { name in
      text.ranges(of: name).contains { !continues(text[..<$0.lowerBound].last) && !continues(text[$0.upperBound...].first) }
    }
  }
}

extension Request {
  /// The tunnel that the request names; `nil`: none.
  package var tunnel: String? {
    switch self {
    case .override(let tunnel, _), .start(let tunnel, _, _), .message(let tunnel, _), .answer(let tunnel, _, _): tunnel
    case .resume(let tunnel): tunnel
    case .run(let program): program.tunnel
    case .release(let release): release.signIn
    case .status, .metrics, .network, .monitor, .guard, .reload, .apply, .confirm, .revert: nil
    }
  }
}
