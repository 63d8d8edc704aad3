import AgentCore
import ControlProtocol
import KernelModel
import LinuxAgent
import LinuxPlatform
import Logging
import NetworkTypes
import RoamwardCore
import Simulation
import Synchronization
import TestKit
import Testing

/// Each entry of the log says by a code why, with the tunnel where it is of one, at info: without a name of a place or a person.
@Suite struct ReasonCodeTests {
  private let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  private let always = [Sample.rule(.always, .connect)]

  /// `state connecting peer-timeout`: what was told of a tunnel, with its code.
  private func codes(_ life: WatchedAgent) -> [String] {
    life.events.compactMap { event in
      guard let code = event.code else { return nil }
      return switch event {
      case .decision(_, let outcome, _, _, _, _): "decision \(outcome) \(code.rawValue)"
      case .state(_, _, let to, _, _): "state \(to) \(code.rawValue)"
      case .failure: "failure \(code.rawValue)"
      case .override: "hold \(code.rawValue)"
      case .warning: "warning \(code.rawValue)"
      default: nil
      }
    }
  }

  @Test("a peer that does not answer: peer-timeout, in the event, in the state and in status") func peerTimeout() throws {
    let life = WatchedAgent(Sample.tunnel(rules: always), on: cafe)
    life.machine.peersAnswer = false
    life.start(for: .seconds(15.5))
    #expect(codes(life) == ["decision connect rule-matched", "state connecting rule-matched", "failure peer-timeout"])
    #expect(try life.tunnel().failureCode == .peerTimeout && life.tunnel().code == .peerTimeout)
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(5))
    #expect(try life.tunnel().failureCode == nil && life.tunnel().code == .ruleMatched)
    life.move(to: NetworkSnapshot())
    #expect(try life.tunnel().code == .noNetwork)
    #expect(codes(life).contains("state reasserting no-network"))
  }

  @Test("no address for the endpoint, a command that fails, no engine, a link of somebody else, a step that is refused") func failures()
    throws
  {
    let named = Sample.tunnel(rules: always, wireGuard: Sample.wireGuard(endpoint: "vpn.example:51820"))
    let unresolved = WatchedAgent(named, on: cafe)
    unresolved.start(for: .milliseconds(100))
    #expect(try unresolved.tunnel().failureCode == .nameUnknown)

    let missing = WatchedAgent(Sample.tunnel(rules: always), on: cafe)
    missing.machine.engine = .none(reason: "install roamward-wireguard")
    missing.start(for: .milliseconds(100))
    #expect(try missing.tunnel().failureCode == .engineMissing)

    let refused = WatchedAgent(Sample.tunnel(rules: always), on: cafe)
    refused.machine.failingSteps = { step in if case .addAddress = step { "not permitted" } else { nil } }
    refused.start(for: .milliseconds(100))
    #expect(try refused.tunnel().failureCode == .stepFailed)
    let warnings = refused.events.compactMap { event in if case .warning = event { event } else { nil } }
    #expect(!warnings.isEmpty && warnings.allSatisfy { $0.tunnel == "corp" && $0.code == .stepFailed })

    let taken = WatchedAgent(Sample.tunnel(rules: always), on: cafe)
    taken.machine.state.apply([
      .addWireGuardLink("corp", .kernel), .addAddress(Sample.own("192.0.2.7/32"), link: "corp"), .setUp(link: "corp"),
    ])
    taken.start(for: .milliseconds(100))
    #expect(try taken.tunnel().failureCode == .linkTaken)
    #expect(taken.events.contains { $0.tunnel == "corp" && $0.code == .linkTaken })
  }

  @Test("what a person says, what a policy says, and that a peer is silent") func states() throws {
    let life = WatchedAgent(Sample.tunnel(rules: always), on: cafe)
    life.start()
    try life.agent.override("corp", OverrideRequest(wantsUp: false))
    #expect(codes(life).suffix(3).contains("hold manual-override") && codes(life).last == "state disconnected manual-override")
    #expect(try life.tunnel().code == .manualOverride)
    try life.agent.resume(nil)
    #expect(codes(life).contains("hold override-ended"))
    life.machine.policies = PolicySet(tunnels: [])
    life.agent.policiesChanged()
    life.machine.run(for: .seconds(2))
    #expect(codes(life).last == "state disconnected policy-removed")
  }

  @Test("each kind of entry carries tunnel and reason at info, and no words of places") func log() throws {
    let kept = KeptLog()
    let logger = Logger(label: "test") { _ in kept }
    let secret = "Secret Place"
    let events: [Event.Kind] = [
      .decision(tunnel: "corp", outcome: "connect", rule: 1, code: .ruleMatched, reason: secret),
      .state(tunnel: "corp", from: "connecting", to: "connected", code: .ruleMatched, reason: secret),
      .failure(tunnel: "corp", TunnelFailure(.peerTimeout, secret)),
      .override(tunnel: "corp", OverrideRequest(wantsUp: true), isSaid: true),
      .network(link: "wlan0", type: "wifi", ssid: secret), .policy(generation: 2, errors: 0, warnings: 0),
      .firewall(FirewallStatus(situation: .guarded, guards: ["corp"], blocking: ["corp"])),
      .repair(tunnel: "corp", reason: .linkChanged, count: 2), .repair(tunnel: nil, reason: .killSwitchChanged, count: 1),
      .warning(Remark(.dnsLimited, of: "corp", "its name servers are not applied")),
    ]
    for event in events {
      logger.log(event)
      let line = try #require(kept.lines.all.withLock { $0.last }, "\(event)")
      #expect(line["reason"] == event.code.map { "\($0.rawValue)" }, "\(event)")
      #expect(line["reason"] != nil && line["tunnel"] == event.tunnel.map { "\($0)" }, "\(event)")
      #expect(!line.values.contains { "\($0)".contains(secret) }, "\(event)")
    }
  }
}

/// Keeps the fields of each entry; copies keep them in one place.
private struct KeptLog: LogHandler {
  final class Lines: Sendable { let all = Mutex<[Logger.Metadata]>([]) }

  let lines = Lines()
  var logLevel = Logger.Level.info
  var metadata: Logger.Metadata = [:]

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let entry = metadata.merging(event.metadata ?? [:]) { _, new in new }
    lines.all.withLock { $0.append(entry) }
  }
}
