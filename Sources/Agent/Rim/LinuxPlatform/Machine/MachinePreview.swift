package import AgentCore
internal import ControlProtocol
internal import Glibc
internal import HostDNS
import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import ProviderGroups
package import RoamwardCore

extension PlanPreview {
  /// The preview for this machine. `inputs` are created from the observed state; `up` names a tunnel, or a group, that is planned with an
  /// override (up).
  package convenience init(
    of policies: PolicySet, on snapshot: NetworkSnapshot, up: String? = nil, machine: LinuxMachine,
    inputs: (ObservedState) -> PlanInputs
  ) throws(PlatformError) {
    let policies = policies.owned(by: snapshot.users)
    let observed = try machine.observeForPreview(of: policies)
    var inputs = inputs(observed)
    for tunnel in up.map({ policies.tunnels(meant: $0) }) ?? [] {
      inputs.overrides[tunnel.name] = ManualOverride(wantsUp: true, since: .distantFuture, lifetime: .resume)
    }
    var engine = WireGuardEngine.kernel
    if case .engine(let likely) = machine.engines.likelyChoice { engine = likely }
    let tunnels = DesiredTunnels(policies, on: snapshot, inputs, in: observed, engine: engine)
    let others = OtherVPNs(in: observed.kernel, ownLinks: inputs.ownLinks(policies))
    self.init(
      of: tunnels, from: observed, others: others, portal: inputs.killSwitch.portalWindow(populatedControlGroup), remarks: inputs.remarks,
      listening: openPorts())
  }
}

/// The TCP ports at which programs of this network namespace wait for connections.
func openPorts() -> [ListeningPort] { HostDNS.listeningPorts().map { ListeningPort(address: $0.address, port: $0.port) } }

extension LinuxMachine {
  /// The observed state that a plan needs. Waits for the DNS backend if a tunnel has name servers.
  fileprivate func observeForPreview(of policies: PolicySet) throws(PlatformError) -> ObservedState {
    let served = policies.tunnels.compactMap(\.linkName) + [Ownership.refusalLink]
    let bringsDNS = policies.tunnels.contains { !$0.dnsInForce.servers.isEmpty || $0.routesByName }
    if bringsDNS { settleResolver(served) }
    let need = ObservationRequest(
      facts: [], everywhere: true, wireGuardLinks: policies.tunnels.filter(\.provider.isWireGuard).compactMap(\.linkName), firewall: .name,
      nameCapture: .name,
      resolverLinks: bringsDNS ? Set(served) : nil)
    var observed = try observe(need).state
    if policies.tunnels.contains(where: { $0.isEnabled && !$0.provider.isWireGuard }) {
      observed.providers = providerGroups.find()
      // Only root can tell.
      if observed.providers == .unexamined, geteuid() == 0, let reason = ProviderGroups.absence() {
        observed.providers = .unavailable(reason: reason)
      }
    }
    return observed
  }
}
