import AgentCore
import AgentDaemon
import ControlClient
import ControlProtocol
import JSON
internal import LinuxIO
import LinuxPlatform
import NetworkTypes
import PolicySource
import RoamwardCore

extension AgentOptions {
  /// The network with what the running agent found out by asking it. Nothing is sent for a dry run: without an agent, or where the agent is
  /// on another network by now, that stays unknown, and the reason says so.
  func addingAnswers(to network: NetworkSnapshot) -> NetworkSnapshot {
    var network = network
    guard let seen = lastSnapshot else {
      network.otherProbes = .unknown(reason: "no agent is running to send the probe; for a dry run use --assume-probe URL=ok")
      return network
    }
    guard NetworkIdentity(of: seen).mayBeSame(as: NetworkIdentity(of: network)), seen.primary == network.primary else {
      network.otherProbes = .unknown(reason: "the agent has not observed this network yet")
      return network
    }
    network.otherProbes = .unknown(reason: "the agent has no result for it")
    for (name, answer) in seen.probes where answer.value != nil { network.probes[name] = answer }
    network.rememberedProbes = seen.rememberedProbes
    if network.captivePortal.value == nil, seen.captivePortal.value != nil { network.captivePortal = seen.captivePortal }
    if network.internet.value == nil, seen.internet.value != nil { network.internet = seen.internet }
    return network
  }

  /// How it stands with the agent's questions, a line each; empty where there is none.
  var probeLines: [String] {
    guard let client = try? ControlClient(path: socket), let report = try? client.status() else { return [] }
    return report.probes.map { $0.line(at: report.time) }
  }

  /// What the agent has in force in the place of these files, where it runs and has not got on without.
  func standInLines(for files: [String]) -> [String] {
    guard let client = try? ControlClient(path: socket), let report = try? client.status(within: .seconds(2)) else { return [] }
    return report.policy.standIns.filter { $0.file.map(files.contains) ?? true }.map { $0.text(\.localTime) }
  }

  /// Overrides and suspension by the agent's word; without an agent, what the last one has written down.
  func standingOrders(on network: NetworkSnapshot, _ sources: SourceOptions) -> (ObservedState) -> StandingOrders {
    if let client = try? ControlClient(path: socket), let report = try? client.status(within: .seconds(2)) {
      if !report.isStarting {
        let identity = NetworkIdentity(of: network)
        let isSame = identity.isNone || lastSnapshot.map { NetworkIdentity(of: $0).mayBeSame(as: identity) } ?? false
        return { _ in StandingOrders(report, isSameNetwork: isSame, controlGroup: populatedControlGroup) }
      }
    }
    return { StandingOrders(RecordedState(sources.stateDir), on: network, firewall: $0.firewall) }
  }

  private var lastSnapshot: NetworkSnapshot? {
    guard let client = try? ControlClient(path: socket), let reply = try? client.network(.monitor(snapshots: true), within: .seconds(2))
    else { return nil }
    return readSnapshot(text: Array(reply.network.text().utf8), file: "the agent's answer").snapshot
  }
}
