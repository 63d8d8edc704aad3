internal import ControlProtocol
internal import NetworkTypes
internal import RoamwardCore

extension Reconciler {
  /// What will happen to a tunnel by itself, the next first.
  func timers(of supervisor: TunnelSupervisor) -> [TunnelTimer] {
    let name = supervisor.policy.name
    let timers = deliberation.timers(of: name, at: world.now(), time: world.wallClock()) + [supervisor.machine.timer].compactMap { $0 }
    return timers.sorted { $0.at < $1.at }
  }

  /// Tells of timers that have been set since the last pass, and of those that will not come any more where nothing else tells it.
  func tellOfTimers() {
    let now = world.now()
    for supervisor in orderedSupervisors {
      let name = supervisor.policy.name
      let (before, after) = (toldTimers[name] ?? [], timers(of: supervisor))
      toldTimers[name] = after.isEmpty ? nil : after
      for timer in before where now < timer.at && timer.what.wordsOfEnd != nil && !after.contains(where: { $0.what == timer.what }) {
        tell(.timer(tunnel: name, timer.what.rawValue, at: nil, inMilliseconds: nil))
      }
      for timer in after where !before.contains(where: { $0.isSame(as: timer) }) {
        tell(.timer(tunnel: name, timer.what.rawValue, at: wallClock(timer.at), inMilliseconds: (timer.at - now).milliseconds))
      }
    }
    toldTimers = toldTimers.filter { supervisors[$0.key] != nil }
  }

  /// In seconds since 1970.
  func wallClock(_ moment: Moment) -> Int64 { world.wallClock() + max(0, (moment - world.now()).components.seconds) }
}

extension TunnelTimer {
  /// The end of a hold is a time on the wall clock, in whole seconds: seen from two moments it differs by up to one.
  fileprivate func isSame(as other: TunnelTimer) -> Bool {
    let difference = max(at, other.at) - min(at, other.at)
    return what == other.what && (what == .holdEnd ? difference < .seconds(2) : difference == .zero)
  }
}
