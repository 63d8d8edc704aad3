import KernelModel
import NetworkTypes
import RoamwardCore

/// The kill switches of all tunnels, and closing them at the first sign that the network is left. Pure: no clock.
struct KillSwitch {
  /// How often an opening for a captive portal is looked at: whether its programs have ended, or its tunnels
  /// are up, so that it is needless.
  private static let portalInterval = Duration.seconds(5)

  var machine = KillSwitchMachine()
  /// Closes the firewall when this network is left.
  private var stepOnLeaving: Step?
  /// It has been done since the last look.
  private(set) var hasClosedInAdvance = false

  /// What an earlier agent blocks stays blocked until a decision says otherwise.
  mutating func begin(after firewall: ObservedFirewall?) {
    if case .table(_, _, isGuarding: true)? = firewall { machine.beganGuarded = true }
  }

  func portalDeadline(at now: Moment) -> Moment? { machine.portal.map { _ in now + Self.portalInterval } }

  /// Prepares the step for that moment from what is wanted now: then nothing has to be looked at, decided or planned first.
  mutating func prepareToLeave(_ tunnels: DesiredTunnels, portal: PortalWindow?) {
    stepOnLeaving = tunnels.tableOnLeaving(portal: portal).map { .replaceFirewall($0) }
  }

  var isPreparedToLeave: Bool { stepOnLeaving != nil }

  mutating func takeStepOnLeaving() -> Step? {
    defer { stepOnLeaving = nil }
    return stepOnLeaving
  }

  mutating func closedInAdvance(_ isClosed: Bool) { hasClosedInAdvance = isClosed }
}

extension AgentState {
  /// Plans for the moment in which the network is left.
  mutating func prepareToLeave() { killSwitch.prepareToLeave(desiredTunnels, portal: portalWindow) }
}
