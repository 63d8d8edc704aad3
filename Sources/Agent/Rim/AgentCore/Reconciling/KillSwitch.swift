import KernelModel
import NetworkTypes
import RoamwardCore

/// The kill switches of all tunnels, re-enabled at the first sign that the network is lost. Pure: no clock.
struct KillSwitch {
  /// The interval at which a portal window is checked: it is needless if its programs have ended, or its tunnels are up.
  private static let portalInterval = Duration.seconds(5)

  var machine = KillSwitchMachine()
  /// Programs that policies name and that ran before their sockets were marked, by the numbers of their groups, as remarks.
  var earlyPrograms: [UInt64: Remark] = [:]
  /// Remarks on programs that policies name and whose sockets cannot be marked.
  var unmarkedPrograms: [Remark] = []
  /// The step that closes the firewall when this network is left.
  private var stepOnLeaving: Step?
  /// Whether that step was applied since the last observation.
  private(set) var hasClosedInAdvance = false

  /// Leaves the blocks of an earlier agent in place until a decision ends them.
  mutating func begin(after firewall: ObservedFirewall?) {
    if firewall?.isGuarding == true { machine.beganGuarded = true }
  }

  func portalDeadline(at now: Moment) -> Moment? { machine.portal.map { _ in now + Self.portalInterval } }

  /// Prepares that step from the present desired state, so that leaving needs no observation, decision or plan.
  mutating func prepareToLeave(_ tunnels: DesiredTunnels, portal: PortalWindow?, providers: ProviderGroupState, guards: [GuardSetup]) {
    stepOnLeaving = tunnels.tableOnLeaving(portal: portal, providers: providers, guards: guards).map { .replaceFirewall($0) }
  }

  /// The remarks on those programs, in the order of their groups.
  var remarks: [Remark] { earlyPrograms.sorted { $0.key < $1.key }.map(\.value) + unmarkedPrograms }

  var isPreparedToLeave: Bool { stepOnLeaving != nil }

  mutating func takeStepOnLeaving() -> Step? {
    defer { stepOnLeaving = nil }
    return stepOnLeaving
  }

  mutating func closedInAdvance(_ isClosed: Bool) { hasClosedInAdvance = isClosed }
}

extension AgentState {
  /// Prepares the step for the moment at which the network is left.
  func prepareToLeave() {
    killSwitch.prepareToLeave(desiredTunnels, portal: portalWindow, providers: seen.state?.providers ?? .unexamined, guards: programGuards)
  }
}
