package import ControlProtocol
import KernelModel
import NetworkTypes
package import RoamwardCore

/// Publishes each event once: states, failures, timers, the kill switch, repairs and problems. It counts what it publishes.
package final class Announcer {
  /// Receives every event, for logs and monitors.
  package var receive: (Event.Kind) -> Void = { _ in }
  /// Receives the reason of each wake-up, and the tunnel, for the log.
  package var receiveWake: (WakeReason, String?) -> Void = { _, _ in }

  /// The owners of tunnels by the tunnels' names: of the policies and of what runs on after its policy has gone.
  var owners: [String: UserName] = [:]
  private(set) var counts = EventCounts()

  /// Receives each evaluation of the rules, for the record; `nil`: none is kept.
  package var publishPass: ((DecisionPass) -> Void)?

  private(set) var problems: [Remark] = []
  private var states: [String: String] = [:]
  private var failures: [String: PublishedFailure] = [:]
  private var timers: [String: [TunnelTimer]] = [:]
  private var firewall = FirewallStatus()
  private var blocking = BlockingRecorder()

  func publish(_ event: Event.Kind) {
    counts.count(event)
    receive(event)
  }

  func publishWake(_ reason: WakeReason, _ tunnel: String?) {
    counts.countWake(reason)
    receiveWake(reason, tunnel)
  }

  /// Counts an answer of the network, which is no event.
  func countProbe(_ answer: String) { counts.countProbe(answer) }

  /// Forgets the counts of tunnels that no policy describes any more.
  func keepCounts(of tunnels: Set<String>) { counts.keep(tunnels) }

  func warn(_ remark: Remark) { publish(.warning(remark)) }

  /// Publishes those remarks that are new.
  func record(_ new: [Remark]) {
    for problem in new where !problems.contains(problem) { warn(problem) }
    problems = new
  }

  /// Publishes a tunnel's new state and its failures. Each failed attempt is published once, even if the next one is under way or fails for
  /// the same reason.
  func follow(_ tunnel: TunnelSupervisor, reason: () -> (code: ReasonCode, description: String)) {
    let name = tunnel.policy.name
    let (before, failure) = (failures[name], PublishedFailure(tunnel.machine))
    failures[name] = failure
    if let failure, failure != before, failure.retry != nil || failure.reason != before?.reason {
      publish(.failure(tunnel: name, failure.reason))
    }
    let (old, new) = (states[name] ?? "disconnected", tunnel.machine.status)
    guard old != new else { return }
    states[name] = new
    let why = reason()
    publish(.state(tunnel: name, from: old, to: new, code: why.code, reason: why.description))
  }

  /// Publishes the results of a pass: the firewall, timers and repairs.
  func follow(_ state: inout AgentState, at now: Moment, wallClock: Timestamp, recordBlocking: (FirewallStatus?) -> Void) {
    followFirewall(of: state, recordBlocking)
    let names = state.decisions.timed.union(timers.keys).union(state.tunnels.engaged.lazy.map(\.policy.name))
    let timed = names.compactMap { state.tunnels[$0] }
    let timers = timed.map { ($0.policy.name, state.timers(of: $0, at: now, wallClock: wallClock)) }
    follow(Dictionary(uniqueKeysWithValues: timers), at: now, wallClock: wallClock)
    let ended = state.repairs.takeEnded(at: now)
    follow(ended) { [tunnels = state.tunnels] link in tunnels.ordered.first { $0.linkName == link }?.policy.name }
  }

  func followFirewall(of state: AgentState, _ recordBlocking: (FirewallStatus?) -> Void) {
    let status = state.firewallStatus
    if status != firewall {
      firewall = status
      publish(.firewall(status))
    }
    // Before the first policy set is in force, what an earlier agent blocks stays blocked, and its record stays true.
    if state.policies.generation == 0, state.seen.state?.firewall.isGuarding == true { return }
    // Every user may read the record.
    blocking.follow(Visibility(hiding: Set(owners.keys)).shown(status), recordBlocking)
  }

  /// Publishes timers that are new since the last call, and those that are cancelled if no other event reports that.
  private func follow(_ all: [String: [TunnelTimer]], at now: Moment, wallClock: Timestamp) {
    for (name, after) in all.sorted(by: { $0.key < $1.key }) {
      let before = timers[name] ?? []
      for timer in before where now < timer.at && timer.what.textOfEnd != nil && !after.contains(where: { $0.what == timer.what }) {
        publish(.timer(tunnel: name, timer.what.rawValue, at: nil, inMilliseconds: nil))
      }
      for timer in after where !before.contains(where: { $0.isSame(as: timer) }) {
        publish(
          .timer(
            tunnel: name, timer.what.rawValue, at: wallClock + max(.zero, timer.at - now),
            inMilliseconds: (timer.at - now).milliseconds))
      }
    }
    timers = all.filter { !$0.value.isEmpty }
  }

  /// Publishes bursts of repairs that have ended.
  private func follow(_ ended: [(subject: RepairBackoff.Subject, count: Int)], tunnel: (String) -> String?) {
    for (subject, count) in ended { publish(.repair(tunnel: subject.link.flatMap(tunnel), reason: subject.reason, count: count)) }
  }
}

/// A published failure, distinct from the same failure of the next attempt.
private struct PublishedFailure: Equatable {
  let reason: TunnelFailure
  /// The moment of the next attempt, while the tunnel waits for it.
  var retry: Moment?

  init?(_ machine: TunnelMachine) {
    guard let failure = machine.failure else { return nil }
    reason = failure
    if case .backingOff(_, let until) = machine.state { retry = until }
  }
}

extension TunnelTimer {
  /// The end of an override is a wall-clock time in whole seconds: computed at two moments, it differs by up to one.
  fileprivate func isSame(as other: TunnelTimer) -> Bool {
    let difference = max(at, other.at) - min(at, other.at)
    return what == other.what && (what == .overrideEnd ? difference < .seconds(2) : difference == .zero)
  }
}
