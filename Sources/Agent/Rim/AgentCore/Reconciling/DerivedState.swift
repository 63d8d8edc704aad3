import KernelModel
import RoamwardCore

/// The consequences of the observation and the decisions, kept for as long as neither changes.
struct DerivedState {
  /// The tunnels and the underlay that a desired state follows from.
  struct Inputs: Equatable {
    var tunnels: [TunnelSetup]
    var underlay: UnderlayFit
    var portal: PortalWindow?
    var guards: [GuardSetup]
    var programs: [ProgramGroup]
  }

  /// Routes of the network that would bypass our tunnels; `nil`: not searched since the last observation.
  var claims: [RouteClaim]?
  private var last: (inputs: Inputs, desired: DesiredState)?

  /// The desired state of these inputs, computed if they differ from the last ones.
  mutating func desired(_ inputs: Inputs) -> DesiredState {
    if let last, last.inputs == inputs { return last.desired }
    let desired = DesiredState(
      of: inputs.tunnels, on: inputs.underlay, portal: inputs.portal, guards: inputs.guards, programs: inputs.programs)
    last = (inputs, desired)
    return desired
  }
}
