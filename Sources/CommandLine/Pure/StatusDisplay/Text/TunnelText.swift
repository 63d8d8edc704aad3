internal import ControlProtocol
internal import NetworkTypes
internal import RoamwardCore

/// The section of one tunnel in a status: its state, what is wrong with it, and its network.
struct TunnelText {
  let tunnel: StatusReport.Tunnel
  /// Whether the kill switch blocks everything outside, and no window is open.
  var isBlocked = false
  let time: Timestamp
  let localTime: (Timestamp) -> String

  var lines: [StyledLine] { [headline] + trouble + reasons + network + programs + limits }

  private var headline: StyledLine {
    StyledLine(tunnel.name, .strong).adding(": ").adding(tunnel.state, style)
      .adding(
        " \(lasting(time - tunnel.since))" + (tunnel.isEnabled || tunnel.code == .ownerAway ? "" : ", disabled"))
  }

  private var style: TextStyle {
    switch tunnel.state {
    case "connected", "armed": .good
    case "disconnected": tunnel.isWanted ? .bad : .faint
    default: tunnel.isFailing ? .bad : .busy
    }
  }

  private func line(_ label: String, _ text: String, _ style: TextStyle = .faint) -> StyledLine {
    let padding = String(repeating: " ", count: max(0, 8 - label.count))
    return StyledLine("  ", hang: 11).adding("\(label):", style).adding(padding + text)
  }

  private var trouble: [StyledLine] {
    (tunnel.failure.map { [line("failure", $0, .bad)] } ?? [])
      + tunnel.questions.map { line("asks", "\($0.prompt); `roamward answer \(tunnel.name)`\(window($0))", .busy) }
  }

  /// The way for a browser of this machine to the page while the kill switch blocks it; empty if none is needed.
  private func window(_ question: StatusReport.Question) -> String {
    guard isBlocked, question.kind == "url" else { return "" }
    let others = question.hosts ?? []
    return "; blocked by the kill switch: first `roamward release --sign-in \(tunnel.name) --only PID`, with the browser's process"
      + (others.isEmpty ? "" : "; that opens \(others.joined(separator: ", ")) too")
  }

  private var reasons: [StyledLine] {
    // With an override, the rule does not decide.
    let rule = tunnel.override == nil ? tunnel.rule.map { "  (\(place($0)))" } ?? "" : ""
    var lines = [line("because", tunnel.reason + rule)]
    if let lookup = tunnel.lookup {
      let asker = lookup.user.map { NameLookup.Asker(user: UInt32(clamping: $0), controlGroup: lookup.controlGroup) }
      lines.append(line("look-up", "\(NameLookup(tunnel: tunnel.name, name: lookup.name, asker: asker))"))
    }
    if let override = tunnel.override {
      let reason = tunnel.overrideReason.map { " (\($0))" } ?? ""
      let end = tunnel.overrideUntil.map { "until \(localTime($0))" } ?? tunnel.overrideEnds ?? ""
      let since = lasting(time - (tunnel.overrideSince ?? time))
      lines.append(line("manual", "override (\(override)) \(since)\(reason), \(end); `roamward resume \(tunnel.name)` ends it", .busy))
      lines.append(line("rules", "\(tunnel.decision.rawValue) (overridden)"))
    }
    // The end of an override is on the override's line.
    for timer in tunnel.timers where timer.what != TunnelTimer.What.overrideEnd.rawValue {
      let time = age(timer.at - time)
      lines.append(line("next", TunnelTimer.What(rawValue: timer.what)?.text(in: time) ?? "\(timer.what) in \(time)", .busy))
    }
    return lines
  }

  private var network: [StyledLine] {
    var lines: [StyledLine] = []
    if let through = tunnel.through { lines.append(line("through", "\(through), which carries its packets")) }
    if let link = tunnel.link {
      let words = [tunnel.engine.map { ", \($0)" }, tunnel.endpoint.map { " to \($0)" }, tunnel.mtu.map { ", MTU \($0)" }]
      lines.append(line("link", link + words.compactMap(\.self).joined()))
    }
    if let transport = tunnel.transport { lines.append(line("packets", transport)) }
    if !tunnel.addresses.isEmpty { lines.append(line("address", shortened(tunnel.addresses, count: tunnel.addresses.count))) }
    if tunnel.routeCount > 0 { lines.append(line("routes", shortened(tunnel.routes, count: tunnel.routeCount))) }
    if let byName = tunnel.byName { lines += text(of: byName) }
    if !tunnel.nameServers.isEmpty {
      let domains = tunnel.domains.isEmpty ? "all names" : shortened(tunnel.domains, count: tunnel.domains.count)
      lines.append(line("names", "\(tunnel.nameServers.joined(separator: ", ")) for \(domains)"))
    }
    if let lastHandshake = tunnel.lastHandshake {
      let bytes = "received \(size(tunnel.receivedBytes ?? 0)), sent \(size(tunnel.sentBytes ?? 0))"
      lines.append(line("peer", "last handshake \(ago(time - lastHandshake)); \(bytes)"))
    }
    return lines
  }

  /// The routes by name: their domains, shared addresses, and what got no route.
  private func text(of report: NamedRoutesReport) -> [StyledLine] {
    let domains = [
      report.includeDomains.isEmpty ? nil : shortened(report.includeDomains, count: report.includeDomains.count),
      report.excludeDomains.isEmpty ? nil : "not " + shortened(report.excludeDomains, count: report.excludeDomains.count),
    ]
    let evicted = report.evicted == 0 ? "" : ", \(report.evicted) made room for others"
    let count = "\(report.count) address\(report.count == 1 ? "" : "es") in use\(evicted)"
    var lines = [line("by name", "\(domains.compactMap(\.self).joined(separator: "; ")) (\(count))")]
    lines += report.addresses.filter(\.isShared).prefix(Self.mostShared).map { line("shared", $0.shareText, .busy) }
    if let refused = report.refused { lines.append(line("by name", refused, .busy)) }
    return lines
  }

  /// Lines about addresses that belong to other names too.
  private static let mostShared = 5

  private var programs: [StyledLine] {
    var lines: [StyledLine] = []
    if let brought = tunnel.brought {
      let names = brought.matchDomains.isEmpty ? "" : " for \(brought.matchDomains.joined(separator: ", "))"
      let parts = [
        brought.addresses.isEmpty ? nil : "address \(brought.addresses.joined(separator: ", "))",
        brought.included.isEmpty ? nil : "routes \(brought.included.joined(separator: ", "))",
        brought.servers.isEmpty ? nil : "name servers \(brought.servers.joined(separator: ", "))\(names)",
      ].compactMap(\.self)
      if !parts.isEmpty { lines.append(line("brought", parts.joined(separator: "; "))) }
    }
    if let usage = tunnel.usage { lines.append(StyledLine("  \(usage.line)", hang: 11)) }
    return lines
  }

  private var limits: [StyledLine] {
    tunnel.outside.map { line("outside", $0.text) } + tunnel.notes.map { line("note", "\($0)", .busy) }
  }

  private func place(_ rule: RuleReport) -> String {
    "\(rule.file.split(separator: "/").last.map(String.init) ?? rule.file):\(rule.line)"
  }
}
