import AgentCore
import ControlClient
import ControlProtocol
import Glibc
import JSON
internal import LinuxIO
import LinuxPlatform
import NetworkTypes
import PolicySource
import RoamwardCore
import StatusDisplay

extension AgentOptions {
  /// The network with the probe results of the running agent. A dry run sends nothing. Without an agent, or if the agent is on another
  /// network by now, these facts stay unknown, with the reason.
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

  /// The state of the agent's probes, one line each; empty without an agent.
  var probeLines: [String] {
    guard let client = try? ControlClient(path: socket), let report = try? client.status() else { return [] }
    return report.probes.map { $0.line(at: report.time) }
  }

  /// The agent's last known good versions in the place of these files; empty without an agent.
  func replacedFileLines(for files: [String]) -> [String] {
    guard let client = try? ControlClient(path: socket), let report = try? client.status(within: .seconds(2)) else { return [] }
    return report.policy.replacedFiles.filter { $0.file.map(files.contains) ?? true }.map { $0.text(\.localTime) }
  }

  /// Whether the agent has policies on trial.
  var hasTrial: Bool {
    guard let client = try? ControlClient(path: socket), let report = try? client.status(within: .seconds(2)) else { return false }
    return report.policy.trialUntil != nil
  }

  /// The manual overrides and the suspension that the agent reports; without an agent, those that the last one recorded.
  func planInputs(on network: NetworkSnapshot, _ sources: SourceOptions) -> (ObservedState) -> PlanInputs {
    if let client = try? ControlClient(path: socket), let report = try? client.status(within: .seconds(2)) {
      if !report.isStarting {
        let identity = NetworkIdentity(of: network)
        let isSame = identity.isNone || lastSnapshot.map { NetworkIdentity(of: $0).mayBeSame(as: identity) } ?? false
        return { _ in PlanInputs(report, isSameNetwork: isSame, controlGroup: populatedControlGroup) }
      }
    }
    return { PlanInputs(RecordedState(sources.stateDir), on: network, firewall: $0.firewall) }
  }

  /// The manual overrides that hold: those that the agent reports, or that the last one recorded.
  func overrides(on network: NetworkSnapshot, _ sources: SourceOptions) -> [String: ManualOverride] {
    guard let client = try? ControlClient(path: socket), let report = try? client.status(within: .seconds(2)), !report.isStarting else {
      return RecordedState(sources.stateDir).overrides(on: network)
    }
    return PlanInputs(report, isSameNetwork: true).overrides
  }

  /// The members of groups that the running agent uses; without an agent none.
  func turns(of policies: PolicySet) -> [String: GroupTurn] {
    guard !policies.groups.isEmpty, let client = try? ControlClient(path: socket), let report = try? client.status(within: .seconds(2))
    else { return [:] }
    let turns = policies.groups.compactMap { group -> (String, GroupTurn)? in
      let names = group.members.map(\.name)
      guard let reported = report.groups.first(where: { $0.name == group.name }), let inUse = reported.member?.tunnel, names.contains(inUse)
      else { return nil }
      let trial = reported.members.first { $0.role == .trial && names.contains($0.tunnel) }?.tunnel
      return (group.name, GroupTurn(group: group.name, members: names, member: inUse, trial: trial))
    }
    return Dictionary(turns) { first, _ in first }
  }

  /// The agent's snapshot; `nil` if none runs. An agent of another version that does not know the request counts as none.
  fileprivate func agentsView() -> SnapshotWithSources? {
    guard let client = try? ControlClient(path: socket), let answer = try? client.network(),
      let snapshot = readSnapshot(text: Array(answer.network.text().utf8), file: "the agent's answer").snapshot
    else { return nil }
    var underlay = SnapshotWithSources(snapshot: snapshot, provenance: Provenance())
    underlay.takeFacts(from: answer.network)
    return underlay
  }

  private var lastSnapshot: NetworkSnapshot? {
    guard let client = try? ControlClient(path: socket), let reply = try? client.network(.monitor(snapshots: true), within: .seconds(2))
    else { return nil }
    return readSnapshot(text: Array(reply.network.text().utf8), file: "the agent's answer").snapshot
  }
}

extension SourceOptions {
  /// This machine's network. A running agent's facts come first, because its rules use them.
  func seen(with agent: AgentOptions) throws -> SnapshotWithSources {
    let observation = try observation()
    var underlay = SnapshotWithSources(snapshot: observation.snapshot, provenance: observation.provenance)
    if areUsual, var seen = agent.agentsView() {
      seen.complete(from: underlay)
      underlay = seen
    } else {
      underlay.snapshot = agent.addingAnswers(to: underlay.snapshot)
    }
    return underlay
  }

  /// The same, with the gateway's hardware address if the gateway answers. The kernel resolves it only for a packet, and a machine that has
  /// just arrived has sent none. A running agent asks by itself when it is asked for the network.
  func seenWithGateway(with agent: AgentOptions) throws -> SnapshotWithSources {
    var underlay = try seen(with: agent)
    guard underlay.snapshot.isAwaitingGateway else { return underlay }
    let machine = try machine()
    do throws(PlatformError) { _ = try machine.observe(ObservationRequest()) } catch { return underlay }
    if let link = underlay.snapshot.primaryLink, let gateway = link.gateways.first { machine.resolveNeighbour(gateway, on: link) }
    // The kernel asks three times within three seconds.
    let end = Moment.now + .seconds(4)
    while underlay.snapshot.isAwaitingGateway, Moment.now < end {
      poll(nil, 0, 100)
      underlay = try seen(with: agent)
    }
    return underlay
  }
}

extension NetworkSnapshot {
  /// Whether the hardware address of the gateway is unknown, and its answer would tell it.
  fileprivate var isAwaitingGateway: Bool { primaryLink.map { !$0.gateways.isEmpty && $0.isAwaiting(.gatewayMAC) } ?? false }
}
