import AgentCore
package import ControlProtocol
import LinuxPlatform
package import Logging
internal import NetworkTypes
internal import RoamwardCore

extension Logger {
  /// Logs one line for each event, with its tunnel and its reason code. Data that identifies places and people (SSIDs, names, addresses:
  /// the reason texts) is logged at debug level only.
  package func log(_ event: Event.Kind) {
    var logger = self
    logger[metadataKey: "tunnel"] = event.tunnel.map { "\($0)" }
    logger[metadataKey: "reason"] = event.code.map { "\($0.rawValue)" }
    logger.write(event)
  }

  private func write(_ event: Event.Kind) {
    switch event {
    case .decision(_, let outcome, let rule, let name, _, let reason):
      info("decision", metadata: with(reason, ["decision": "\(outcome)", "rule": "\(rule.map(String.init) ?? "none")"].naming(name)))
    case .state(_, let from, let to, _, let reason): info("tunnel", metadata: with(reason, ["from": "\(from)", "to": "\(to)"]))
    case .failure(_, let failure): warning("failure", metadata: with(failure.description, [:]))
    case .lookup(let lookup): info("look-up starts the tunnel", metadata: with("\(lookup)", [:]))
    case .nameRoute(_, let name, let way, let addresses):
      debug(
        "addresses of a name",
        metadata: ["name": "\(name)", "way": "\(way.rawValue)", "addresses": "\(addresses.map(\.description).joined(separator: ","))"])
    case .override(_, let override, _):
      info("override", metadata: ["override": "\(override.map { $0.wantsUp ? "up" : "down" } ?? "ended")"])
    case .network(let link, let type, let ssid):
      info("network", metadata: with(ssid, as: "ssid", ["link": "\(link ?? "none")", "type": "\(type ?? "none")"]))
    case .policy(let generation, let errors, let warnings):
      let metadata: Logger.Metadata = ["generation": "\(generation)", "errors": "\(errors)", "warnings": "\(warnings)"]
      errors == 0
        ? info("policies are active", metadata: metadata)
        : error("policies have errors; the last known good stays active", metadata: metadata)
    case .timer(_, let what, _, let milliseconds):
      let when = milliseconds.map { text(for: .milliseconds($0)) } ?? "cancelled"
      debug("timer", metadata: ["timer": "\(what)", "in": "\(when)"])
    case .firewall(let status):
      var metadata: Logger.Metadata = [
        "situation": "\(status.situation.rawValue)", "guards": "\(status.guards.joined(separator: ","))",
        "blocking": "\(status.blocking.joined(separator: ","))",
      ]
      metadata[JournalMessage.key] = "\(JournalMessage(status).rawValue)"
      if let words = status.wordsOfBlocking { metadata["what"] = "\(words)" }
      let isLoud = !status.blocking.isEmpty || status.situation == .released || status.situation == .portal
      isLoud ? warning("firewall", metadata: metadata) : info("firewall", metadata: metadata)
    case .repair(_, _, let count): info("drift repaired", metadata: ["count": "\(count)"])
    case .snapshot: break
    case .providerLog(_, let level, let origin, let text):
      log(level: Level(ofProvider: level), "provider", metadata: ["origin": "\(origin)", "text": "\(text)"])
    case .question(_, _, let kind, let prompt): notice("question", metadata: with(prompt, as: "prompt", ["kind": "\(kind)"]))
    case .provider(_, let name, _): info("provider", metadata: ["event": "\(name)"])
    case .warning(let note): warning("attention", metadata: ["what": "\(note)"])
    }
  }

  private func with(_ detail: String?, as key: String = "because", _ metadata: Metadata) -> Metadata {
    guard logLevel <= .debug, let detail else { return metadata }
    return metadata.merging([key: "\(detail)"]) { first, _ in first }
  }
}

extension Logger.Metadata {
  /// Adds the name of a rule, if there is one.
  fileprivate func naming(_ rule: String?) -> Logger.Metadata { rule.map { merging(["name": "\($0)"]) { first, _ in first } } ?? self }
}

extension Logger.Level {
  fileprivate init(ofProvider level: String) {
    self =
      switch level {
      case "debug": .debug
      case "info": .info
      case "notice": .notice
      case "warning": .warning
      default: .error
      }
  }
}
