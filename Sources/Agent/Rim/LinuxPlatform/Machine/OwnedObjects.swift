package import AgentCore
internal import ControlProtocol
internal import Glibc
internal import HostProxies
package import HostServices
internal import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import PolicySource
internal import ProviderGroups
package import RoamwardCore
internal import TunnelProviders

/// One object on this machine that is ours, by its mark.
package struct OwnedObject: Equatable, Sendable {
  package enum Kind: String, Hashable, Sendable {
    /// A network link.
    case link
    /// An address of a link.
    case address
    /// A route.
    case route
    /// A routing rule.
    case rule
    /// A table of nftables.
    case firewall
    /// Settings of a resolver.
    case resolver
    /// A file on disk.
    case file
    /// A running program.
    case process
    /// A control group of programs.
    case controlGroup = "control-group"
  }

  package var kind: Kind
  package var what: String
  /// The tunnel that it belongs to, if its mark or its place shows that.
  package var tunnel: String?
  /// The purpose of the object.
  package var purpose: String
}

extension LinuxMachine {
  /// All our objects: those of a running agent, and leftover state. Requires root.
  package func ownedObjects(stateDirectory: String, socket: String) throws(PlatformError) -> [OwnedObject] {
    let notes = NotesOnDisk(stateDirectory)
    var observed = try observeForLeftOvers()
    observed.unfinishedLinks = observed.kernel.unfinished(among: notes.links)
    return observed.ownedObjects + ownedGroups + ownedSlices + ownedFiles(notes, stateDirectory, socket, resolvConf: observed.resolvConf)
      + providerGroups.programs.owned(notes.programs)
      + MarkedProcess.all.map { process in
        let link = process.marks["ROAMWARD_LINK"]
        return OwnedObject(
          kind: .process, what: "\(process.process) \(escaped(process.command.joined(separator: " ")))",
          tunnel: (process.marks["ROAMWARD_TUNNEL"] ?? link).map { escaped($0) },
          purpose: link != nil
            ? "runs the link" : process.isRun ? "the command `\(process.marks["ROAMWARD_ACTION"] ?? "")`" : "started by the command")
      }
  }

  /// The control groups of tunnels' programs.
  private var ownedGroups: [OwnedObject] {
    guard providerGroups.find().group != nil, let name = providerGroups.name else { return [] }
    let folder = OwnedObject(
      kind: .controlGroup, what: name, tunnel: nil, purpose: "marks the sockets of tunnels' programs, so that they stay outside")
    return [folder]
      + providerGroups.tunnels.compactMap { tunnel in
        guard let group = providerGroups.existingGroup(of: tunnel) else { return nil }
        return OwnedObject(
          kind: .controlGroup, what: escaped(group.name), tunnel: escaped(tunnel),
          purpose: "the tunnel's programs (\(group.processes.count))")
      }
      + providerGroups.guards.compactMap { process in
        guard let group = providerGroups.existingGuard(of: process) else { return nil }
        return OwnedObject(
          kind: .controlGroup, what: escaped(group.name), tunnel: nil, purpose: "the programs of a guard (\(group.processes.count))")
      }
  }

  /// The slices of tunnels that are units, and the drop-ins that name them.
  private var ownedSlices: [OwnedObject] {
    providerGroups.unitTunnels.compactMap { tunnel in
      guard let group = providerGroups.existingSlice(of: tunnel) else { return nil }
      return OwnedObject(
        kind: .controlGroup, what: group.name, tunnel: tunnel,
        purpose: "marks the sockets of the tunnel's unit (\(group.processes.count))")
    }
      + UnitDropIn.units().map { tunnel, unit in
        let name = unit.service.name
        return OwnedObject(kind: .file, what: UnitDropIn(name).path, tunnel: tunnel, purpose: "has \(name) run in that slice")
      }
  }

  /// The state of everything that may be ours, including the resolver programs'; waits a second or two for those.
  func observeForLeftOvers() throws(PlatformError) -> ObservedState {
    let links = try observe(ObservationRequest(facts: [])).state.kernel.links.filter { Ownership.tunnel(ofAlias: $0.alias) != nil }.map(
      \.name)
    if !links.isEmpty { settleResolver(links) }
    return try observe(
      ObservationRequest(facts: [], everywhere: true, firewall: .name, nameCapture: .name, resolverLinks: links.isEmpty ? nil : Set(links))
    )
    .state
  }

  private func ownedFiles(_ notes: NotesOnDisk, _ folder: String, _ socket: String, resolvConf: ObservedResolvConf) -> [OwnedObject] {
    var files: [OwnedObject] = []
    for name in Folder.names(in: folder) {
      let purpose: String
      var tunnel: String?
      if name.hasPrefix("link-") {
        tunnel = String(name.dropFirst(5))
        purpose = "records that the link is being created, or exists"
      } else if name.hasPrefix("command-") {
        tunnel = String(name.dropFirst(8))
        purpose = "records that the command's `up` was started, so `down` must run"
      } else if name.hasPrefix(GuardNote.prefix) {
        purpose = "records a guard, so that it goes on after a crash of the agent"
      } else if name.hasPrefix(GuardPresence.prefix) {
        purpose = "says that a guard has not ended as a person wanted: without its process, it stays closed"
      } else if name.hasPrefix("resolvconf-") {
        purpose = "a record that resolvconf must still remove from resolv.conf"
      } else if name.hasPrefix("resolv.conf.") {
        purpose = "the original resolv.conf"
      } else if name.hasPrefix("damaged-") {
        purpose = "a damaged state file; inspect it, then remove it"
      } else {
        purpose =
          switch name {
          case ProgramNote.name: "records the programs of `roamward run`, so that their packets keep their route after a crash of the agent"
          case "lock": "prevents a second agent"
          case ProviderGroups.noteName: "names the control group of tunnels' programs"
          case "holds.json": "manual overrides"
          case "trial", "trial.d": "policies on trial"
          case LastKnownGoodPolicies.noteName, LastKnownGoodPolicies.changesName: "the last known good policies"
          case "history": "the record of networks, decisions and states (`roamward history`)"
          case "kept": "what providers keep between their runs"
          case ProxyPublisher.noteName: "names the folders that were made for the files of proxies"
          default: "unknown to this version"
          }
      }
      files.append(OwnedObject(kind: .file, what: "\(folder)/\(name)", tunnel: tunnel, purpose: purpose))
    }
    for path in ControlSocket.paths(of: socket) where access(path, F_OK) == 0 {
      files.append(OwnedObject(kind: .file, what: path, tunnel: nil, purpose: "the agent's socket"))
    }
    files += BlockedTrafficRecord().files.map { OwnedObject(kind: .file, what: $0.path, tunnel: nil, purpose: $0.purpose) }
    for link in notes.links.sorted() where access(UserspaceWireGuard.socketPath(of: link), F_OK) == 0 {
      files.append(
        OwnedObject(kind: .file, what: UserspaceWireGuard.socketPath(of: link), tunnel: link, purpose: "the WireGuard engine's socket"))
    }
    return files
  }
}

extension ProgramGroups {
  /// The control groups of programs that users have started, or that policies name.
  fileprivate func owned(_ programs: [ProgramGroup]) -> [OwnedObject] {
    programs.compactMap { program in
      guard let group = open(program.path, number: program.group.number) else { return nil }
      let route = program.route.tunnel.map { "through \(escaped($0))" } ?? "outside"
      return OwnedObject(
        kind: .controlGroup, what: escaped(program.path), tunnel: program.route.tunnel.map { escaped($0) },
        purpose: "programs \(route) (\(group.processes.count))")
    }
  }

  /// The noted programs that run: a clean-up leaves them blocked until the next agent. Adds a line for each thing that it removes.
  func running(_ notes: NotesOnDisk, _ lines: inout [String], in folder: String) -> [ProgramGroup] {
    let running = notes.programs.filter { open($0.path, number: $0.group.number)?.isPopulated ?? false }
    for program in notes.programs where !running.contains(program) && program.isMade { lines.append("rmdir \(escaped(program.path))") }
    if running.isEmpty, notes.notes[ProgramNote.name] != nil { lines.append("rm \(folder)/\(ProgramNote.name)") }
    return running
  }
}

extension UnitDropIn {
  /// The units that run in slices of ours, with their tunnels.
  package static func units() -> [(tunnel: String, unit: ServiceProviderConfiguration)] {
    all().compactMap { dropIn in
      dropIn.slice.flatMap(ProviderGroups.tunnel(ofSlice:)).map { ($0, ServiceProviderConfiguration(.unit(dropIn.unit))) }
    }
  }
}

extension ObservedState {
  /// Our objects in the kernel, the firewall and resolv.conf.
  fileprivate var ownedObjects: [OwnedObject] {
    var objects: [OwnedObject] = []
    var tunnels: [String: String] = [:]
    for link in kernel.links {
      guard let tunnel = Ownership.tunnel(ofAlias: link.alias) ?? (unfinishedLinks.contains(link.name) ? link.name : nil) else { continue }
      tunnels[link.name] = tunnel
      let purpose =
        link.alias == nil
        ? "incomplete: the agent ended while it was created" : tunnel == Ownership.refusalOwner ? "refuses names" : "carries the tunnel"
      objects.append(OwnedObject(kind: .link, what: "\(link.name) (\(link.kind ?? "?"))", tunnel: tunnel, purpose: purpose))
    }
    for address in kernel.addresses where tunnels[address.link] != nil {
      objects.append(
        OwnedObject(
          kind: .address, what: "\(address.address) dev \(address.link)", tunnel: tunnels[address.link], purpose: "inside the tunnel"))
    }
    let own = kernel.routes.filter { $0.routeProtocol == Ownership.routeProtocol && Ownership.tables.contains($0.table) }
    var tables: [UInt32: String] = [:]
    for route in own { if let link = route.link, link != "lo" { tables[route.table] = tunnels[link] ?? link } }
    for rule in kernel.rules where rule.routeProtocol == Ownership.routeProtocol && Ownership.rules.contains(rule.priority) {
      objects.append(
        OwnedObject(
          kind: .rule, what: "\(rule.family == .v6 ? "-6 " : "")\(rule)", tunnel: tables[rule.table],
          purpose: rule.purpose
        ))
    }
    for route in own { objects.append(OwnedObject(kind: .route, what: "\(route)", tunnel: tables[route.table], purpose: route.purpose)) }
    if case .table(_, _, let isGuarding) = firewall {
      let purpose = isGuarding ? "the kill switch" : "drops packets to the tunnel's addresses from outside"
      objects.append(OwnedObject(kind: .firewall, what: "table \(FirewallTable.name)", tunnel: nil, purpose: purpose))
    }
    if case .table = nameCapture {
      objects.append(
        OwnedObject(
          kind: .firewall, what: "table \(NameCapture.name)", tunnel: nil,
          purpose: "leads DNS questions to roamward-names (`names: capture`)"))
    }
    if resolvConf.isOurs {
      objects.append(OwnedObject(kind: .resolver, what: "resolv.conf", tunnel: nil, purpose: "DNS servers inside the tunnel"))
    }
    for (link, settings) in resolver.links.sorted(by: { $0.key < $1.key }) where tunnels[link] != nil && !settings.isEmpty {
      objects.append(
        OwnedObject(
          kind: .resolver, what: "systemd-resolved \(link) \(settings)", tunnel: tunnels[link],
          purpose: tunnels[link] == Ownership.refusalOwner ? "refused names" : "DNS servers inside the tunnel"))
    }
    for sink in proxies.remains.sorted() {
      objects.append(
        OwnedObject(kind: .file, what: "the address of proxies in \(sink.rawValue)", tunnel: nil, purpose: "leads programs to proxies"))
    }
    if proxies.server == .elsewhere {
      objects.append(
        OwnedObject(kind: .process, what: "roamward-proxy at \(ProxyPublication.url)", tunnel: nil, purpose: "serves the script of proxies")
      )
    }
    for name in resolver.records.keys.sorted() {
      objects.append(OwnedObject(kind: .resolver, what: "resolvconf \(name)", tunnel: nil, purpose: "DNS servers inside the tunnel"))
    }
    return objects
  }
}

extension RoutingRule {
  fileprivate var purpose: String {
    if table == Route.mainTable { return "keeps another VPN's own packets outside" }
    let isOfPrograms = mask == .max && mark & Ownership.programMask == Ownership.programMark(0)
    return isOfPrograms ? "leads programs into the tunnel" : "leads to the tunnel's table"
  }
}

extension Route {
  fileprivate var purpose: String {
    switch kind {
    case .unicast: "into the tunnel"
    case .throw: "outside the tunnel: excluded or attached prefix"
    default: "unreachable: the tunnel has no address of this family"
    }
  }
}
