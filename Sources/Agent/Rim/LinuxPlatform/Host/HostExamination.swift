import AgentCore
package import Doctor
internal import Glibc
internal import HostDNS
internal import HostProbes
import KernelModel
internal import KernelNetwork
internal import LinuxIO
internal import NetworkTypes
internal import PolicyFiles
package import PolicySource
internal import ProviderGroups
import RoamwardCore

extension HostCondition {
  /// Examines this host, and changes nothing.
  package init(of machine: LinuxMachine, loaded: LoadedPolicies, agent: AgentCondition) {
    self.init()
    self.agent = agent
    policyErrors = loaded.diagnostics.count { $0.severity == .error }
    closedTables = machine.firewall.closedTables
    clock = Int64(time(nil))
    kernel = KernelCondition(of: machine)
    let files = InstalledFiles()
    let programs = runningPrograms()
    // The kernel keeps 15 characters of a name.
    if programs.contains("systemd-network") { networkd = NetworkdCondition(configuration: files.networkdConfiguration) }
    resolvConf = resolvConfCondition("/etc/resolv.conf")
    nameServers = ResolvConf(parsing: text("/etc/resolv.conf")).nameServers
    browsers = files.browsers
    if loaded.policies.tunnels.contains(where: \.routesByName) {
      ownResolvers = programsWithResolvers(at: BrowserCondition.publicServers)
    }
    enabledUnits = files.enabledUnits
    otherTunnels = files.quickTunnels + (programs.contains("NetworkManager") ? files.managedTunnels : [])
    missingPrograms = missing(loaded.policies)
    missingUsers = absentUsers(of: loaded.policies)
    missingServices = absentServices(of: loaded.policies, programs: programs)
    let addresses = (try? machine.observe(ObservationRequest(facts: [])).state.kernel.addresses) ?? []
    // Resolvers of stopped containers do not matter; podman removes them when a container stops.
    containers = files.containerResolvers { link in addresses.first { $0.link == link && $0.address.address.family == .v4 }?.address.address
    }
    .filter { $0.program != .docker || programs.contains("dockerd") }
    if enabledUnits.contains("nftables.service") { flushesRuleset = files.flushingRuleset }
    if geteuid() != 0 { recordUnseen(loaded, isFirewallDenied: machine.firewall.observed == .denied) }
  }
}

extension HostCondition {
  /// Notes the checks that read what only root may read.
  private mutating func recordUnseen(_ loaded: LoadedPolicies, isFirewallDenied: Bool) {
    unread = loaded.unread.map(\.path)
    // Control groups, keys of other programs' tunnels, folders of containers.
    unseen = ["mark", "same-tunnel", "containers"]
    if isFirewallDenied { unseen.formUnion(["nftables", "other-firewall"]) }
    if kernel.tunAbsence == String(cString: strerror(EACCES)) { unseen.insert("tun") }
    if loaded.policies.tunnels.contains(where: \.provider.isUnread) { unseen.formUnion(HostCheck.ofTunnelFiles) }
    if !loaded.unreadPolicies.isEmpty { unseen.formUnion(HostCheck.ofPolicies) }
  }
}

extension KernelCondition {
  fileprivate init(of machine: LinuxMachine) {
    self.init()
    switch machine.engines.likelyChoice {
    case .engine(let engine): isWireGuardUserspace = engine == .userspace
    case .none(let reason): wireGuardAbsence = reason
    }
    probeAbsence = ProbeHelper.absence
    missingUsers = KernelCondition.users.filter { getpwnam($0) == nil }
    let tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC)
    if tun >= 0 { close(tun) } else { tunAbsence = String(cString: strerror(errno)) }
    if case .unknown(let reason) = machine.firewall.observed { nftablesAbsence = reason }
    // Without root the answer would be that root is needed.
    markAbsence = geteuid() == 0 ? ProviderGroups.absence() : nil
    isIPv6Disabled = isIPv6Off
    strictLinks = Folder.names(in: "/sys/class/net").filter { $0 != "lo" && checksReversePathStrictly($0) }
  }
}

private func runningPrograms() -> Set<String> {
  Set(Folder.names(in: "/proc").filter { $0.allSatisfy(\.isNumber) }.map { String(text("/proc/\($0)/comm").prefix { $0 != "\n" }) })
}

private func resolvConfCondition(_ path: String) -> ResolvConfCondition {
  if let target = FileNature.linkTarget(of: path) { return .link(to: target) }
  return FileNature.exists(path) ? .file(isImmutable: FileNature.isImmutable(path)) : .absent
}

/// The programs that tunnels' commands start with and that are missing.
private func missing(_ policies: PolicySet) -> [String: [String]] {
  var missing: [String: [String]] = [:]
  for tunnel in policies.tunnels where tunnel.isEnabled {
    let programs: [String]
    switch tunnel.provider {
    case .wireGuard, .service: continue
    case .command(let command): programs = [command.up, command.down, command.status].compactMap(\.first).uniqued()
    case .installed(let provider): programs = [provider.program.path, "setpriv"]
    }
    let absent = programs.filter(isMissing)
    if !absent.isEmpty { missing[tunnel.name] = absent }
  }
  return missing
}

/// Whether the agent would not find the program; false if this user may not look for it.
private func isMissing(_ program: String) -> Bool {
  guard let path = PolicyFileSystem.linux.program(named: program) else { return true }
  do throws(FileFailure) { return try !PolicyFileSystem.linux.status(path).isProgram } catch { return error.cause != .denied }
}

private func absentServices(of policies: PolicySet, programs: Set<String>) -> [String: String] {
  var missing: [String: String] = [:]
  for tunnel in policies.tunnels where tunnel.isEnabled {
    guard case .service(let provider) = tunnel.provider else { continue }
    switch provider.service {
    case .unit(let name): if !hasUnit(name) { missing[tunnel.name] = "systemd has no unit \(name)" }
    case .profile: if !programs.contains("NetworkManager") { missing[tunnel.name] = "NetworkManager is not running" }
    case .tailscale: if !programs.contains("tailscaled") { missing[tunnel.name] = "tailscaled is not running" }
    }
  }
  return missing
}

/// Whether systemd finds a file of this unit, or of the template that it is an instance of.
private func hasUnit(_ name: String) -> Bool {
  let folders = [
    "/etc/systemd/system", "/run/systemd/system", "/run/systemd/transient", "/run/systemd/generator", "/run/systemd/generator.early",
    "/run/systemd/generator.late", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system",
  ]
  var names = [name]
  if let instance = name.firstIndex(of: "@"), let suffix = name.lastIndex(where: { $0 == "." }), instance < suffix {
    names.append(String(name[...instance]) + name[suffix...])
  }
  return folders.contains { folder in names.contains { FileNature.exists("\(folder)/\($0)") } }
}

private func absentUsers(of policies: PolicySet) -> [String: String] {
  var missing: [String: String] = [:]
  for tunnel in policies.tunnels where tunnel.isEnabled {
    if case .installed(let provider) = tunnel.provider, getpwnam(provider.program.user) == nil {
      missing[tunnel.name] = provider.program.user
    }
  }
  return missing
}
