extension StatusReport {
  package var json: JSON {
    [
      "version": 1, "time": .integer(time), "pid": JSON(process),
      "policy": [
        "generation": JSON(generation), "files": JSON(policyFiles), "problems": .array(problems.map(\.json)),
        "standIns": .array(standIns.map(\.json)),
        "trialUntil": trialUntil.map { .integer($0) } ?? .null,
      ],
      "primary": [
        "link": JSON(primary.link), "type": JSON(primary.type), "ssid": JSON(primary.ssid),
        "network": ["ipv4": JSON(primary.network4), "ipv6": JSON(primary.network6)],
      ],
      "firewall": firewall.json, "tunnels": .array(tunnels.map(\.json)), "probes": .array(probes.map(\.json)), "notes": JSON(notes),
      "others": JSON(others), "counters": counters.json, "dns": resolver?.json ?? .null,
      "lastWake": lastWake?.json ?? .null, "nextWake": nextWake?.json ?? .null,
    ]
  }

  /// Reads what `json` wrote; absent members are empty, so that an older client understands a newer agent.
  package init(_ json: JSON) {
    func text(_ key: String) -> String? { json["primary"]?[key]?.string }
    self.init(
      time: json["time"]?.integer ?? 0, process: Int(json["pid"]?.integer ?? 0),
      generation: Int(json["policy"]?["generation"]?.integer ?? 0),
      policyFiles: Int(json["policy"]?["files"]?.integer ?? 0), problems: (json["policy"]?["problems"]?.array ?? []).map(Problem.init),
      primary: Primary(
        link: text("link"), type: text("type"), ssid: text("ssid"), network4: json["primary"]?["network"]?["ipv4"]?.string,
        network6: json["primary"]?["network"]?["ipv6"]?.string),
      firewall: FirewallStatus(json["firewall"] ?? .null), tunnels: (json["tunnels"]?.array ?? []).map(Tunnel.init),
      probes: (json["probes"]?.array ?? []).map(Probe.init),
      notes: (json["notes"]?.array ?? []).compactMap(\.string), counters: json["counters"].map(Counters.init) ?? Counters(),
      resolver: json["dns"].flatMap(Resolver.init))
    others = (json["others"]?.array ?? []).compactMap(\.string)
    trialUntil = json["policy"]?["trialUntil"]?.integer
    lastWake = json["lastWake"].flatMap(Wake.init)
    nextWake = json["nextWake"].flatMap(Wake.init)
    standIns = (json["policy"]?["standIns"]?.array ?? []).map(StandIn.init)
  }
}

extension StatusReport.Wake {
  fileprivate var json: JSON { ["reason": .string(reason), "tunnel": JSON(tunnel), "at": .integer(at)] }

  fileprivate init?(_ json: JSON) {
    guard let reason = json["reason"]?.string else { return nil }
    self.init(reason: reason, tunnel: json["tunnel"]?.string, at: json["at"]?.integer ?? 0)
  }
}

extension StatusReport.Counters {
  fileprivate var json: JSON {
    [
      "events": JSON(events), "overflows": JSON(overflows), "observations": JSON(observations), "evaluations": JSON(evaluations),
      "plans": JSON(plans), "steps": JSON(steps), "repairs": JSON(repairs), "polls": JSON(polls),
    ]
  }

  fileprivate init(_ json: JSON) {
    func number(_ key: String) -> Int { Int(json[key]?.integer ?? 0) }
    self.init(
      events: number("events"), overflows: number("overflows"), observations: number("observations"), evaluations: number("evaluations"),
      plans: number("plans"), steps: number("steps"), repairs: number("repairs"))
    polls = number("polls")
  }
}

extension StatusReport.Resolver {
  fileprivate var json: JSON {
    let considered = candidates.map { candidate -> JSON in
      ["backend": .string(candidate.backend), "chosen": .bool(candidate.isChosen), "because": .string(candidate.because)]
    }
    return [
      "backend": .string(backend), "because": .string(because), "split": .bool(splits), "candidates": .array(considered),
      "refused": JSON(refused),
    ]
  }

  /// `nil` for what an older agent does not say.
  fileprivate init?(_ json: JSON) {
    guard let backend = json["backend"]?.string else { return nil }
    self.init(
      backend: backend, because: json["because"]?.string ?? "", splits: json["split"]?.bool ?? false,
      candidates: (json["candidates"]?.array ?? []).map {
        Candidate(backend: $0["backend"]?.string ?? "", isChosen: $0["chosen"]?.bool ?? false, because: $0["because"]?.string ?? "")
      })
    refused = (json["refused"]?.array ?? []).compactMap(\.string)
  }
}

extension StatusReport.Problem {
  package var json: JSON {
    ["file": .string(file), "line": JSON(line), "column": JSON(column), "severity": .string(severity), "message": .string(message)]
  }

  fileprivate init(_ json: JSON) {
    self.init(
      file: json["file"]?.string ?? "", line: Int(json["line"]?.integer ?? 0), column: Int(json["column"]?.integer ?? 0),
      severity: json["severity"]?.string ?? "error", message: json["message"]?.string ?? "")
  }
}

extension StatusReport.Probe {
  fileprivate var json: JSON {
    [
      "name": .string(name), "answer": .string(answer), "because": .string(because), "answeredAt": answeredAt.map { .integer($0) } ?? .null,
      "nextAt": nextAt.map { .integer($0) } ?? .null, "wanted": .bool(isWanted),
    ]
  }

  fileprivate init(_ json: JSON) {
    self.init(
      name: json["name"]?.string ?? "", answer: json["answer"]?.string ?? "unknown", because: json["because"]?.string ?? "",
      answeredAt: json["answeredAt"]?.integer, nextAt: json["nextAt"]?.integer, isWanted: json["wanted"]?.bool ?? false)
  }
}

extension StatusReport.Tunnel {
  fileprivate var json: JSON {
    func number(_ value: Int64?) -> JSON { value.map { .integer($0) } ?? .null }
    let ruleJSON: JSON =
      rule.map { ["index": JSON($0.index), "name": JSON($0.name), "file": .string($0.file), "line": JSON($0.line)] } ?? .null
    return [
      "name": .string(name), "state": .string(state), "since": .integer(since), "enabled": .bool(isEnabled), "decision": .string(decision),
      "rule": ruleJSON, "because": .string(because), "hold": JSON(hold), "holdSince": number(holdSince),
      "holdEnds": JSON(holdEnds), "holdUntil": number(holdUntil), "holdReason": JSON(holdReason),
      "holdLifetime": JSON(holdLifetime), "wanted": .bool(isWanted), "table": number(table.map(Int64.init)),
      "timers": .array(timers.map { ["timer": .string($0.what), "at": .integer($0.at)] }),
      "link": JSON(link),
      "engine": JSON(engine), "endpoint": JSON(endpoint), "lastHandshake": number(lastHandshake), "receivedBytes": number(receivedBytes),
      "sentBytes": number(sentBytes), "failure": JSON(failure), "code": JSON(code), "failureCode": JSON(failureCode), "notes": JSON(notes),
      "outside": JSON(outside), "peerSilence": number(peerSilence),
    ]
  }

  fileprivate init(_ json: JSON) {
    func text(_ key: String) -> String? { json[key]?.string }
    let rule = json["rule"].flatMap { rule in
      rule["index"]?.integer.map {
        StatusReport.Rule(
          index: Int($0), name: rule["name"]?.string, file: rule["file"]?.string ?? "", line: Int(rule["line"]?.integer ?? 0))
      }
    }
    self.init(
      name: text("name") ?? "", state: text("state") ?? "", since: json["since"]?.integer ?? 0, isEnabled: json["enabled"]?.bool ?? true,
      decision: text("decision") ?? "", rule: rule, because: text("because") ?? "", hold: text("hold"),
      holdSince: json["holdSince"]?.integer, holdEnds: text("holdEnds"), holdUntil: json["holdUntil"]?.integer,
      holdReason: text("holdReason"),
      timers: (json["timers"]?.array ?? []).map { .init(what: $0["timer"]?.string ?? "", at: $0["at"]?.integer ?? 0) }, link: text("link"),
      engine: text("engine"),
      endpoint: text("endpoint"),
      lastHandshake: json["lastHandshake"]?.integer, receivedBytes: json["receivedBytes"]?.integer, sentBytes: json["sentBytes"]?.integer,
      failure: text("failure"), notes: (json["notes"]?.array ?? []).compactMap(\.string))
    code = text("code")
    failureCode = text("failureCode")
    holdLifetime = text("holdLifetime")
    isWanted = json["wanted"]?.bool ?? false
    table = json["table"]?.integer.flatMap { UInt32(exactly: $0) }
    outside = (json["outside"]?.array ?? []).compactMap(\.string)
    peerSilence = json["peerSilence"]?.integer
  }
}
