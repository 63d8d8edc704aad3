package import ControlProtocol
import FlightRecord
import JSON
package import NetworkTypes
package import RoamwardCore

extension RecordedHistory {
  /// The events of a time in the form of `roamward monitor`, oldest first: networks, decisions, and what the agent reported.
  package func events(from: Timestamp, to: Timestamp) -> [EventReport] {
    var reports: [EventReport] = []
    var network: Int?
    for item in items where item.time <= to {
      switch item {
      case .gap: network = nil
      case .event(let time, let json):
        guard from <= time, let report = EventReport(recorded: json, at: time) else { continue }
        reports.append(report)
      case .pass(let pass):
        defer { network = pass.network }
        guard from <= pass.time else { continue }
        let (old, new) = (network.map { Event.Kind(networkOf: networks[$0]) }, Event.Kind(networkOf: networks[pass.network]))
        if old != new { reports.append(Event(time: pass.time, kind: new).report) }
        for tunnel in pass.changed.sorted() {
          guard let kind = pass.decisions[tunnel].flatMap({ Event.Kind(tunnel, $0) }) else { continue }
          reports.append(Event(time: pass.time, kind: kind).report)
        }
      }
    }
    return reports
  }

  /// The gaps of a time.
  package func gaps(from: Timestamp, to: Timestamp) -> [Gap] {
    items.compactMap { item in
      guard case .gap(let gap) = item, from <= gap.to, gap.from <= to else { return nil }
      return gap
    }
  }

  /// The gaps of the record by damage, a line each.
  package var defects: [String] {
    if damaged == 0 { return [] }
    let others = skipped == 0 ? "" : ", and \(skipped) evaluations that build on them"
    return ["\(damaged) damaged lines of the record are left out\(others): the agent was killed, or the disk was full"]
  }

  // MARK: Bands

  /// The time that the record covers, without gaps.
  package func recordedSpans(from: Timestamp, to: Timestamp) -> [Span<Bool>] {
    var spans: [Span<Bool>] = []
    var start: Timestamp?
    for item in items {
      if case .gap(let gap) = item {
        if let begin = start { spans.append(Span(from: begin, to: gap.from, value: true)) }
        start = gap.to
      } else if start == nil {
        start = item.time
      }
    }
    if let start, let end { spans.append(Span(from: start, to: end, value: true)) }
    return clip(spans, from, to)
  }

  /// A value that entries of the record set, until the next one or a gap.
  private func spans<Value>(_ value: (Item) -> Value?) -> [Span<Value>] {
    var spans: [Span<Value>] = []
    var open: (from: Timestamp, value: Value)?
    func close(at time: Timestamp) {
      if let open, open.from < time { spans.append(Span(from: open.from, to: time, value: open.value)) }
      open = nil
    }
    for item in items {
      if case .gap(let gap) = item {
        close(at: gap.from)
      } else if let new = value(item), new != open?.value {
        close(at: item.time)
        open = (item.time, new)
      }
    }
    if let end { close(at: end) }
    return spans
  }

  package var networkSpans: [Span<String>] {
    spans { if case .pass(let pass) = $0 { networks[pass.network].label } else { nil } }
  }

  package func decisionSpans(of tunnel: String) -> [Span<Decision.Outcome>] {
    spans { if case .pass(let pass) = $0 { pass.decisions[tunnel]?.outcome } else { nil } }
  }

  package func stateSpans(of tunnel: String) -> [Span<String>] {
    spans { item in
      guard case .event(_, let json) = item, json["event"]?.string == StateEvent.event, json["tunnel"]?.string == tunnel else { return nil }
      return json["to"]?.string
    }
  }

  /// The tunnels whose traffic the kill switch blocked.
  package var blockedSpans: [Span<String>] {
    let all = spans { item -> String? in
      guard case .event(_, let json) = item, json["event"]?.string == FirewallEvent.event, let firewall = json["firewall"] else {
        return nil
      }
      return firewall["situation"]?.string == "guarded"
        ? (firewall["blocking"]?.array ?? []).compactMap(\.string).joined(separator: ", ") : ""
    }
    return all.filter { !$0.value.isEmpty }
  }

  /// The tunnels of a time, in order of their names.
  package func tunnels(from: Timestamp, to: Timestamp) -> [String] {
    var names = Set<String>()
    for pass in passes where pass.time <= to && from <= pass.time { names.formUnion(pass.decisions.keys) }
    if let pass = pass(at: from) { names.formUnion(pass.decisions.keys) }
    return names.sorted()
  }
}

extension EventReport {
  /// An event as it is recorded. The usual ones are read directly: a month has tens of thousands.
  fileprivate init?(recorded json: JSON, at time: Timestamp) {
    if json["event"]?.string == StateEvent.event, let tunnel = json["tunnel"]?.string, let from = json["from"]?.string,
      let to = json["to"]?.string, let reason = json["reason"]?.string,
      let code = json["code"]?.string.flatMap({ ReasonCode(rawValue: $0) })
    {
      self = Event(time: time, kind: .state(tunnel: tunnel, from: from, to: to, code: code, reason: reason)).report
      return
    }
    let envelope: [JSON.Member] = [
      .init(key: "version", value: .integer(DocumentVersion.current)), .init(key: "time", value: .string(time.description)),
    ]
    guard let report = try? JSON.object(envelope + (json.members ?? [])).decoded(as: EventReport.self) else { return nil }
    self = report
  }
}

extension Event.Kind {
  fileprivate init(networkOf snapshot: NetworkSnapshot) {
    let link = snapshot.primaryLink
    self = .network(link: link?.name, type: link?.type.value?.rawValue, ssid: link?.ssid.value??.description)
  }

  /// `nil`: the code is of another version.
  fileprivate init?(_ tunnel: String, _ decision: RecordedDecision) {
    guard let code = ReasonCode(rawValue: decision.code) else { return nil }
    self = .decision(
      tunnel: tunnel, outcome: decision.outcome.rawValue, rule: decision.rule, name: decision.name, code: code,
      reason: decision.reason ?? decision.code)
  }
}
