internal import ControlProtocol
internal import NetworkTypes
internal import RoamwardCore

extension Reconciler {
  /// Takes what was answered into the snapshot, and puts the questions that the rules hang on now.
  func probe() {
    complete()
    let snapshot = observation?.snapshot ?? NetworkSnapshot()
    prober.want(isStopping ? [] : deliberation.evidence(for: policies, snapshot, at: world.now()))
    complete()
  }

  /// What is known of the network by asking it, over what the host's own sources say.
  private func complete() {
    guard let old = observation?.snapshot else { return }
    let new = prober.machine.complete(underlay, probes: policies.probes)
    guard new != old else { return }
    observation?.snapshot = new
    // A reason alone is no news.
    let json = new.json
    if json != old.json { tell(.snapshot(json)) }
  }

  /// Each probe that a rule hangs on, or did on this network, for `roamward status`.
  var probeReports: [StatusReport.Probe] {
    let now = world.now()
    return prober.machine.reports(at: now).map { report in
      StatusReport.Probe(
        name: report.name, answer: report.answer, because: report.because,
        answeredAt: report.answeredAt.map { world.wallClock() - (now - $0).components.seconds },
        nextAt: report.nextAt.map(wallClock), isWanted: report.isWanted)
    }
  }
}
