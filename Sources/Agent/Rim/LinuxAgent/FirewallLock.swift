package import AgentCore
internal import ControlProtocol
internal import Glibc
internal import KernelModel
internal import KernelNetwork
internal import LinuxIO
import LinuxPlatform
package import Logging
internal import NetworkTypes
internal import PolicySource
internal import RoamwardCore

/// Installs the firewall of policies with `kill-switch: always`, as it is while their tunnels are down and no network is known. It protects
/// the time before the agent's start. An existing table stays.
package func lockFirewall(_ settings: AgentSettings, logger: Logger) throws(PlatformError) {
  let loaded = loadPolicies(
    layers: settings.policyLayers, requireRootOwnership: true, lastKnownGood: NotesOnDisk(settings.stateDirectory).lastKnownGoodPolicies,
    at: Int64(time(nil)))
  for problem in loaded.diagnostics where problem.severity == .error { logger.error("policy", metadata: ["what": "\(problem.message)"]) }
  for words in loaded.lastKnownGoodUse?.text(\.localTime) ?? [] { logger.warning("attention", metadata: ["what": "\(words)"]) }
  if loaded.hasErrors, loaded.lastKnownGoodUse == nil {
    throw PlatformError("the policies have errors, so the kill switch cannot be enabled; run `roamward check`")
  }
  let setups = loaded.policies.owned(by: .notNeeded).tunnels.filter { $0.isEnabled && $0.guarding == .always }.map { tunnel in
    TunnelSetup(policy: tunnel, level: .nothing, slot: 0, link: nil, device: .foreign, isGuarding: true)
  }
  guard let table = FirewallTable(of: setups, on: UnderlayFit(NetworkSnapshot())) else {
    return logger.info("firewall", metadata: ["situation": "open", "because": "no policy says kill-switch: always"])
  }
  do throws(NftablesError) {
    let backend = try NftablesBackend()
    guard backend.observe() == .absent else { return logger.info("firewall", metadata: ["situation": "already guarded"]) }
    try backend.replace(table)
  } catch {
    throw PlatformError("the kill switch cannot block traffic: \(error)")
  }
  let status = FirewallStatus(situation: .guarded, guards: setups.map(\.policy.name), blocking: setups.map(\.policy.name))
  BlockedTrafficRecord().write(status)
  logger.notice("firewall", metadata: ["situation": "guarded", "guards": "\(setups.map(\.policy.name).joined(separator: ","))"])
}

/// The same as `roamwardd --release`, for callers without a logger. Throws if an agent runs in this network namespace.
package func releaseMachine() throws(PlatformError) {
  if let agent = NamespaceLock.holder {
    throw PlatformError("an agent is running (process \(agent.process)), but not at this socket; set --socket or ROAMWARD_SOCKET")
  }
  try releaseFirewall(logger: Logger(label: "roamward") { _ in LogfmtLogHandler(level: .error) })
}

/// Removes the firewall's table, created by the agent or the early lock. A running agent would restore it: send it a request instead.
package func releaseFirewall(logger: Logger) throws(PlatformError) {
  do throws(NftablesError) {
    try NftablesBackend().remove()
  } catch {
    throw PlatformError("the kill switch cannot be suspended: \(error)")
  }
  BlockedTrafficRecord().write(nil)
  logger.warning("firewall", metadata: ["situation": "open", "because": "roamwardd --release"])
}
