package import RoamwardCore

/// Something that happened, as `roamward monitor` tells it: a line of JSON each.
package struct Event: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// The rules' verdict on a tunnel is another one, or has another reason.
    case decision(tunnel: String, outcome: String, rule: Int?, name: String? = nil, reason: ReasonCode, because: String)
    /// The tunnel has come to another state.
    case state(tunnel: String, from: String, to: String, reason: ReasonCode, because: String)
    /// An attempt to bring a tunnel up, or one that was up, has failed. When it is tried again is told as a timer.
    case failure(tunnel: String, TunnelFailure)
    /// What a person said; `nil`: nothing any more, or that it is over. `isSaid`: by a person just now.
    case hold(tunnel: String, HoldRequest?, isSaid: Bool)
    /// Something will happen to a tunnel by itself at this time, in seconds since 1970; `nil`: it will not any more.
    case timer(tunnel: String, String, at: Int64?, inMilliseconds: Int64?)
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

  /// Seconds since 1970.
  package var time: Int64
  package var kind: Kind

  package init(time: Int64, kind: Kind) {
    self.time = time
    self.kind = kind
  }

  package var json: JSON {
    var members = [JSON.Member(key: "time", value: .integer(time))]
    func add(_ fields: KeyValuePairs<String, JSON>) { members += fields.map { JSON.Member(key: $0.key, value: $0.value) } }
    switch kind {
    case .decision(let tunnel, let outcome, let rule, let name, _, let because):
      add([
        "event": "decision", "tunnel": .string(tunnel), "decision": .string(outcome), "rule": JSON(rule), "name": JSON(name),
        "because": .string(because),
      ])
    case .state(let tunnel, let from, let to, _, let because):
      add(["event": "state", "tunnel": .string(tunnel), "from": .string(from), "to": .string(to), "because": .string(because)])
    case .failure(let tunnel, let failure):
      add(["event": "failure", "tunnel": .string(tunnel), "because": .string(failure.description)])
    case .hold(let tunnel, let hold, let isSaid):
      add(["event": "hold", "tunnel": .string(tunnel), "hold": JSON(hold.map { $0.wantsUp ? "up" : "down" }), "said": .bool(isSaid)])
      if let hold { add(["until": hold.until.json, "reason": JSON(hold.reason)]) }
    case .timer(let tunnel, let what, let at, let milliseconds):
      add(["event": "timer", "tunnel": .string(tunnel), "timer": .string(what)])
      add(["at": at.map { .integer($0) } ?? .null, "inMilliseconds": milliseconds.map { .integer($0) } ?? .null])
    case .network(let link, let type, let ssid):
      add(["event": "network", "link": JSON(link), "type": JSON(type), "ssid": JSON(ssid)])
    case .policy(let generation, let errors, let warnings):
      add(["event": "policy", "generation": JSON(generation), "errors": JSON(errors), "warnings": JSON(warnings)])
    case .firewall(let status): add(["event": "firewall", "firewall": status.json])
    case .repair(let tunnel, _, let count): add(["event": "repair", "tunnel": JSON(tunnel), "count": JSON(count)])
    case .warning(let note): add(["event": "warning", "tunnel": JSON(note.tunnel), "message": .string(note.description)])
    case .snapshot(let network): add(["event": "snapshot", "network": network])
    }
    if let code = kind.code { add(["code": .string(code.rawValue)]) }
    return .object(members)
  }
}

extension Event.Kind {
  /// Why it happened; `nil` where nothing but a look has.
  package var code: ReasonCode? {
    switch self {
    case .decision(_, _, _, _, let code, _), .state(_, _, _, let code, _), .repair(_, let code, _): code
    case .failure(_, let failure): failure.code
    case .hold(_, let hold, _): hold == nil ? .overrideEnded : .manualOverride
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
    case .decision(let tunnel, _, _, _, _, _), .state(let tunnel, _, _, _, _), .failure(let tunnel, _), .hold(let tunnel, _, _),
      .timer(let tunnel, _, _, _):
      tunnel
    case .repair(let tunnel, _, _): tunnel
    case .warning(let note): note.tunnel
    case .network, .policy, .firewall, .snapshot: nil
    }
  }
}

extension FirewallStatus {
  /// Why it is as it is, as a code; `reason` is what a person gave.
  package var code: ReasonCode {
    switch situation {
    case .released: .killSwitchSuspended
    case .portal: .portalOpened
    case .open, .guarded: blocking.isEmpty ? .trafficFlows : .trafficBlocked
    }
  }
}

extension Event {
  /// One line for people, from the JSON of any agent: an event that this client does not know is shown as it came.
  package static func line(_ json: JSON) -> String {
    func text(_ key: String) -> String { json[key]?.string ?? "-" }
    switch json["event"]?.string {
    case "decision":
      let rule = json["rule"]?.integer.map { words(forRule: Int($0), name: json["name"]?.string) + ": " } ?? ""
      return "\(text("tunnel")): \(text("decision")) (\(rule)\(text("because")))"
    case "state": return "\(text("tunnel")): \(text("from")) -> \(text("to")) (\(text("because")))"
    case "failure": return "\(text("tunnel")): failed (\(text("because")))"
    case "hold": return "\(text("tunnel")): " + (json["hold"]?.string.map { "held \($0) by hand" } ?? "no longer held")
    case "timer":
      let what = TunnelTimer.What(rawValue: text("timer"))
      guard let milliseconds = json["inMilliseconds"]?.integer else {
        return "\(text("tunnel")): \(what?.wordsOfEnd ?? "no more \(text("timer"))")"
      }
      let time = words(for: .milliseconds(milliseconds))
      return "\(text("tunnel")): \(what?.words(in: time) ?? "\(text("timer")) in \(time)")"
    case "network":
      guard let link = json["link"]?.string else { return "network: none" }
      return "network: \(text("type")) \(link)" + (json["ssid"]?.string.map { ", ssid \"\($0)\"" } ?? "")
    case "policy":
      let errors = json["errors"]?.integer ?? 0
      return errors == 0
        ? "policy: set \(json["generation"]?.integer ?? 0) is in force" : "policy: \(errors) errors; what was good last stays in force"
    case "firewall":
      let status = FirewallStatus(json["firewall"] ?? .null)
      if let words = status.words { return words }
      return status.guards.isEmpty ? "firewall: nothing is held back" : "firewall: guarded by \(status.guards.joined(separator: ", "))"
    case "repair":
      let head = json["tunnel"]?.string.map { "\($0): " } ?? ""
      return "\(head)repaired what another program changed (\(text("code")), \(json["count"]?.integer ?? 1) times)"
    case "warning": return "warning: \(text("message"))"
    default: return json.text()
    }
  }
}
