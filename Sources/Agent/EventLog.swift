internal import ControlProtocol
internal import Logging
internal import RoamwardCore

extension Logger {
  /// One line an event. What identifies places and people (SSIDs, names, addresses: the reasons) is told at debug level alone.
  func tell(_ event: Event.Kind) {
    switch event {
    case .decision(let tunnel, let outcome, let rule, let name, let because):
      info(
        "decision",
        metadata: with(
          because, ["tunnel": "\(tunnel)", "decision": "\(outcome)", "rule": "\(rule.map(String.init) ?? "none")"].naming(name)))
    case .state(let tunnel, let from, let to, let because):
      info("tunnel", metadata: with(because, ["tunnel": "\(tunnel)", "from": "\(from)", "to": "\(to)"]))
    case .failure(let tunnel, let because): warning("failure", metadata: with(because, ["tunnel": "\(tunnel)"]))
    case .hold(let tunnel, let hold, _):
      info("hold", metadata: ["tunnel": "\(tunnel)", "hold": "\(hold.map { $0.wantsUp ? "up" : "down" } ?? "ended")"])
    case .network(let link, let type, let ssid):
      info("network", metadata: with(ssid, as: "ssid", ["link": "\(link ?? "none")", "type": "\(type ?? "none")"]))
    case .policy(let generation, let errors, let warnings):
      let metadata: Logger.Metadata = ["generation": "\(generation)", "errors": "\(errors)", "warnings": "\(warnings)"]
      errors == 0
        ? info("policies are in force", metadata: metadata)
        : error("policies have errors; what was good last stays in force", metadata: metadata)
    case .timer(let tunnel, let what, _, let milliseconds):
      let when = milliseconds.map { words(for: .milliseconds($0)) } ?? "not any more"
      debug("timer", metadata: ["tunnel": "\(tunnel)", "timer": "\(what)", "in": "\(when)"])
    case .firewall(let status):
      var metadata: Logger.Metadata = [
        "situation": "\(status.situation.rawValue)", "guards": "\(status.guards.joined(separator: ","))",
        "blocking": "\(status.blocking.joined(separator: ","))",
      ]
      metadata[JournalMessage.key] = "\(JournalMessage(status).rawValue)"
      if let words = status.wordsOfBlocking { metadata["what"] = "\(words)" }
      let isLoud = !status.blocking.isEmpty || status.situation == .released || status.situation == .portal
      isLoud ? warning("firewall", metadata: metadata) : info("firewall", metadata: metadata)
    case .repair(let tunnel, let reason, let count):
      var metadata: Logger.Metadata = ["reason": "\(reason.rawValue)", "count": "\(count)"]
      if let tunnel { metadata["tunnel"] = "\(tunnel)" }
      info("repaired what another program changed", metadata: metadata)
    case .snapshot: break
    case .warning(let text): warning("attention", metadata: ["what": "\(text)"])
    }
  }

  private func with(_ detail: String?, as key: String = "because", _ metadata: Metadata) -> Metadata {
    guard logLevel <= .debug, let detail else { return metadata }
    return metadata.merging([key: "\(detail)"]) { first, _ in first }
  }
}

extension Logger.Metadata {
  /// With the name of a rule, where it has one.
  fileprivate func naming(_ rule: String?) -> Logger.Metadata { rule.map { merging(["name": "\($0)"]) { first, _ in first } } ?? self }
}
