import NetworkTypes
import RoamwardCore

/// The on-demand keys of a payload, at any of their places.
struct OnDemandFields {
  /// The dictionary with the name of the type: the correct place.
  var inner: Fields?
  /// The payload's root: a common wrong place.
  var outer: Fields

  mutating func read(into tunnel: inout ImportedTunnel, options: ImportOptions, _ report: inout ImportReport) {
    let isEnabled = flag("OnDemandEnabled", &report)
    let userOverride = take("OnDemandUserOverrideDisabled", &report)
    let hadRules = has("OnDemandRules") || has("OnDemandMatchDomainsAlways") || has("OnDemandMatchDomainsOnRetry") || isEnabled != nil
    if let isEnabled {
      report.taken(isEnabled.place, isEnabled.value ? "on-demand enabled" : "on-demand switched off; the rules are kept")
    } else if hadRules {
      report.record(
        "`OnDemandEnabled` is missing, which means off: the rules are kept, switched off", weight: .warning, line: outer.place.line)
    }
    if hadRules { tunnel.onDemand = isEnabled?.value ?? false }
    if let userOverride {
      report.dropped(userOverride.place, "a person can always outrank the rules here, visibly (roamward up, down)", weight: .warning)
    }
    var legacy = inner.map { fields -> LegacyDomains in
      var fields = fields
      let lists = readLegacyDomains(&fields, &report)
      inner = fields
      return lists
    }
    if legacy?.isEmpty ?? true { legacy = readLegacyDomains(&outer, &report) }
    let lists = legacy ?? LegacyDomains()
    if let rules = take("OnDemandRules", &report) {
      let read = readOnDemandRules(rules, dialect: .vpn, legacy: lists, reading: options.reading, &report)
      tunnel.rules = read.rules
      tunnel.ruleObstacle = read.problem
      appendLegacy(lists, to: &tunnel, &report)
      if let last = tunnel.rules.last, !tunnel.rules.contains(where: { $0.rule.match == .always }), read.problem == nil,
        last.rule.action != .ignore
      {
        report.record("no rule matches everywhere: on other networks the tunnel is left as it is", weight: .warning, line: rules.place.line)
      }
    } else {
      appendLegacy(lists, to: &tunnel, &report)
    }
    readIdleEverywhere(into: &tunnel, &report)
  }

  private func appendLegacy(_ lists: LegacyDomains, to tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
    guard let rule = lists.rule(location: SourceLocation(file: report.file, line: outer.place.line ?? 1, column: 1)) else { return }
    if tunnel.rules.contains(where: { $0.rule.match == .always }) {
      report.record(
        "the OnDemandMatchDomains lists have no rule of their own: a rule before them always holds", weight: .warning,
        line: outer.place.line)
    } else {
      tunnel.rules.append(rule)
    }
  }

  private mutating func readIdleEverywhere(into tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
    if var fields = inner {
      readIdle(&fields, switchKey: "DisconnectOnIdle", timerKey: "DisconnectOnIdleTimer", &tunnel, &report)
      inner = fields
    }
    if outer.has("DisconnectOnIdle") || outer.has("DisconnectOnIdleTimer") {
      report.record(
        "DisconnectOnIdle stands at the payload's root; it belongs into the dictionary of the type", weight: .warning,
        line: outer.place.line)
      readIdle(&outer, switchKey: "DisconnectOnIdle", timerKey: "DisconnectOnIdleTimer", &tunnel, &report)
    }
  }

  private func has(_ key: String) -> Bool { inner?.has(key) == true || outer.has(key) }

  /// Takes the key from its correct place, or from the root with a warning.
  private mutating func take(_ key: String, _ report: inout ImportReport) -> Item? {
    if let item = inner?.take(key) { return item }
    guard let item = outer.take(key) else { return nil }
    if inner != nil {
      report.record(
        "\(shown(item.place.text)) stands at the payload's root; it belongs into the dictionary of the type", weight: .warning,
        line: item.place.line)
    }
    return item
  }

  private mutating func flag(_ key: String, _ report: inout ImportReport) -> (value: Bool, place: KeyPath)? {
    if inner?.has(key) == true { return inner?.flag(key, &report) }
    guard outer.has(key) else { return nil }
    if inner != nil {
      report.record(
        "\(key) stands at the payload's root; it belongs into the dictionary of the type", weight: .warning, line: outer.place.line)
    }
    return outer.flag(key, &report)
  }
}

func readIdle(
  _ fields: inout Fields, switchKey: String, timerKey: String, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport
) {
  let isOn = fields.flag(switchKey, &report)
  let timer = fields.number(timerKey, 1...31_536_000, &report)
  if let isOn {
    if isOn.value {
      tunnel.idle = timer?.value ?? 120
      report.taken(isOn.place, timer == nil ? "timing idle: 120s, Apple's own where no timer is given" : "timing idle")
    } else {
      report.taken(isOn.place, "no idle time")
    }
  }
  if let timer {
    if isOn?.value == true {
      report.taken(timer.place, "\(timer.value) s")
    } else {
      report.dropped(timer.place, "without effect while `\(switchKey)` is off")
    }
  }
}
