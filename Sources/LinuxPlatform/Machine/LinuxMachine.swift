package import AgentCore
internal import CLinux
internal import Glibc
package import HostDNS
internal import HostServices
package import KernelModel
internal import KernelNetwork
internal import LinuxIO
internal import NetworkTypes
internal import PolicySource
package import RoamwardCore
package import SystemdIO
package import TunnelProviders

/// This machine: where observations come from and what steps are carried out on. The agent and the dry runs use the same one.
package final class LinuxMachine {
  package let resolver: HostResolver
  package let userspace: UserspaceWireGuard
  private let reader: KernelReader
  private let wifi: WiFiReader
  private let wireGuard: WireGuardKernel
  private let applier: KernelApplier
  private let ssidFile: String?
  private let loop: EventLoop
  private lazy var host = HostServices(on: loop) { [weak self] in self?.hostChanged($0) }
  /// Programs of this host say something else about the network than before; or something for the first time, for which facts have waited.
  package var hostChanged: (_ isFirst: Bool) -> Void = { _ in }
  /// Other facts are needed than before: before anything is looked at.
  package var needChanged: (Set<FactKind>) -> Void = { _ in }
  /// Files whose changes are not noticed, and why not, for people.
  package var watchLimit: () -> String? = { nil }
  private var needed: Set<FactKind>?
  /// Told what to listen for after every look; `nil` in a dry run.
  var events: KernelEvents?
  /// What the kernel last showed.
  private(set) var lastRead: KernelState?
  private var generations = LinkGenerations()
  private var busFacts: [DeviceIdentity: DeviceAttachment] = [:]

  /// Opens the kernel's sockets, in the network namespace of the calling thread. Without a loop of the agent's it has
  /// its own, which runs in `settle`.
  package init(ssidFile: String?, resolvConf: String, stateDirectory: String, loop: EventLoop? = nil) throws(PlatformError) {
    self.ssidFile = ssidFile
    do {
      self.loop = try loop ?? EventLoop()
      resolver = HostResolver(path: resolvConf, stateDirectory: stateDirectory, on: self.loop)
      userspace = UserspaceWireGuard(on: self.loop)
      reader = try KernelReader(tablesNamedBy: OtherVPNs.tables)
      wifi = try WiFiReader()
      wireGuard = try WireGuardKernel()
      applier = try KernelApplier()
    } catch {
      throw PlatformError("cannot query the kernel: \(error)")
    }
  }

  /// Waits until the programs of this host have answered, no longer than `limit`: for a dry run, which has no
  /// loop to come back to. Once only.
  package func settle(_ facts: Set<FactKind>, within limit: Duration = .milliseconds(1500)) {
    hostChanged = { [weak self] _ in if let self, host.isSettled { loop.stop() } }
    host.need(facts)
    guard !host.isSettled, let timer = try? loop.at(.now + limit, { [loop] in loop.stop() }) else { return }
    _ = try? loop.run()
    withExtendedLifetime(timer) {}
  }

  /// Waits, as `settle` does, until whoever keeps the resolver has answered.
  package func settleResolver(_ links: [String], within limit: Duration = .milliseconds(1500)) {
    _ = resolver.observe(Dictionary(links.map { (if_nametoindex($0), $0) }) { first, _ in first })
    resolver.changed = { [weak self] in if let self, resolver.isSettled { loop.stop() } }
    guard !resolver.isSettled, let timer = try? loop.at(.now + limit, { [loop] in loop.stop() }) else { return }
    _ = try? loop.run()
    withExtendedLifetime(timer) {}
  }

  package var resolvConf: ResolvConfBackend { resolver.file }

  /// Hears of sleep and wake from systemd-logind.
  package var slept: (Bool) -> Void {
    get { host.slept }
    set { host.slept = newValue }
  }

  package var hearsSleep = false

  /// Folders and files of other programs that facts come from.
  package var watched: (folders: [String], files: [String]) {
    (host.watched.folders + resolver.watchedFolders, host.watched.files)
  }

  package func filesChanged() {
    host.filesChanged()
    resolver.filesChanged()
  }

  /// Reads everything anew. Short of descriptors it reads nothing: what could not be opened would look like what is not there.
  package func observe(_ need: ObservationRequest) throws(PlatformError) -> Observation {
    if let shortage = FileDescriptor.shortage() { throw PlatformError(shortage.reason) }
    if need.facts != needed {
      needed = need.facts
      needChanged(need.facts)
    }
    host.need(need.facts, sleep: hearsSleep)
    let kernel = try readKernel(need)
    let underlay = SnapshotWithSources(sources(kernel, need.facts))
    let snapshot = underlay.snapshot
    var devices: [String: WireGuardState] = [:]
    for name in need.wireGuardLinks { devices[name] = state(of: name, in: kernel) }
    var state = ObservedState(kernel: kernel, wireGuard: devices, resolvConf: resolvConf.observe())
    let links = need.resolverLinks.map { names in
      Dictionary(kernel.links.filter { names.contains($0.name) }.map { ($0.index.value, $0.name) }) { first, _ in first }
    }
    state.resolver = resolver.observe(links)
    if need.firewall != .nothing { state.firewall = firewall?.observe(trusting: need.firewall == .name) ?? .absent }
    state.isReversePathStrict = snapshot.primary.map(checksReversePathStrictly) ?? false
    return Observation(snapshot: snapshot, state: state, provenance: underlay.provenance)
  }

  /// Another device may have one of these indexes by now.
  func linksAreGone(_ links: Set<InterfaceIndex>) { for link in links { generations.linkIsGone(link) } }

  /// What is listened to follows from what is seen. Where that is more than before, a change may have gone unheard between the look and the
  /// listening: then it is looked at again.
  private func readKernel(_ need: ObservationRequest) throws(PlatformError) -> KernelState {
    do throws(NetlinkError) {
      var kernel = KernelState()
      for _ in 0..<3 {
        let needsMAC = need.facts.contains(.gatewayMAC)
        kernel = try reader.read(extraTables: Set(need.tables), everywhere: need.everywhere, neighbours: needsMAC)
        let interest = EventInterest(kernel, names: Set(need.wireGuardLinks + need.foreignLinks), hearsGateways: needsMAC)
        guard let events, events.subscribe(to: interest) else { break }
      }
      generations.identify(&kernel.links)
      lastRead = kernel
      return kernel
    } catch {
      throw PlatformError(error.description, isTransient: error.isTransient)
    }
  }

  /// The kernel's own WireGuard, else the engine of our own. To know for sure, makes a link and removes it.
  package private(set) lazy var wireGuardEngine = engine(isKernels: wireGuard.isSupported())

  /// The same for a dry run: nothing is made.
  package var likelyWireGuardEngine: EngineChoice { engine(isKernels: wireGuard.isLikely()) }

  private func engine(isKernels: Bool) -> EngineChoice {
    if isKernels { return .engine(.kernel) }
    if UserspaceWireGuard.isInstalled { return .engine(.userspace) }
    return .none(reason: "this kernel has no WireGuard, and roamward-wireguard is neither in the folder of roamwardd nor in its PATH")
  }

  /// Carries out the steps in order; gives those that failed.
  package func apply(_ steps: [Step]) -> [StepFailure] {
    if FaultPoint.isArmed, steps.count > 1 { return steps.flatMap { apply([$0]) } }
    for step in steps { FaultPoint.pass("before \(step)") }
    defer { for step in steps { FaultPoint.pass("after \(step)") } }
    var failures: [StepFailure] = []
    var rest = steps[...]
    while let step = rest.first {
      let batch = rest.prefix { !$0.isOutsideKernel }
      if batch.isEmpty {
        if let reason = applyOutsideKernel(step) { failures.append(StepFailure(step: step, reason: reason)) }
        rest = rest.dropFirst()
      } else {
        failures += applier.apply(Array(batch)).compactMap { result in
          result.error.map { StepFailure(step: result.step, reason: $0.reason) }
        }
        rest = rest.dropFirst(batch.count)
      }
    }
    return failures
  }

  /// Begins a change that another program makes: starts a userspace WireGuard device, or asks the program that keeps the resolver.
  func begin(_ step: Step, then done: @escaping (Result<Void, PlatformError>) -> Void) {
    FaultPoint.pass("before \(step)")
    let finish = { (problem: String?) in
      FaultPoint.pass("after \(step)")
      done(problem.map { .failure(PlatformError($0)) } ?? .success(()))
    }
    if case .addWireGuardLink(let link, .userspace) = step {
      userspace.start(link: link) { [userspace] result in
        guard case .failure(let error) = result else { return finish(nil) }
        userspace.stop(link: link)
        finish(error.description)
      }
    } else {
      resolver.change(step, then: finish)
    }
    FaultPoint.pass("during \(step)")
  }

  /// Reads who keeps the resolver, its file, and what it has for these links.
  func observeResolver(_ links: Set<String>?) -> ResolverObservation {
    let links = links.map { names in Dictionary(names.map { (if_nametoindex($0), $0) }) { first, _ in first }.filter { $0.key > 0 } }
    return ResolverObservation(file: resolvConf.observe(), resolver: resolver.observe(links))
  }

  private func applyOutsideKernel(_ step: Step) -> String? {
    do {
      switch step {
      case .configureWireGuard(let link, let device):
        try userspace.configure(link, device, observed: try userspace.read(link))
      // One that is only being started begins with nothing anyway; to ask it would be to wait for it.
      case .renewSessions(let link, let device):
        if !userspace.isStarting(link) { try userspace.configure(link, device, observed: nil, settingEndpoints: true) }
      case .writeResolvConf(let file): try resolvConf.write(file)
      case .restoreResolvConf: try resolvConf.restore()
      case .replaceFirewall(let table): try requiredFirewall.replace(table)
      case .removeFirewall: try requiredFirewall.remove()
      default: return "this step cannot be executed at once"
      }
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Opened at its first use: most machines never need it.
  private lazy var firewall: NftablesBackend? = try? NftablesBackend()

  /// Our table as it is, for who only looks.
  var observedFirewall: ObservedFirewall { firewall?.observe(trusting: true) ?? .unknown(reason: "cannot initialize libnftables") }

  var closedTables: [ClosedTable] { firewall?.closedTables ?? [] }

  private var requiredFirewall: NftablesBackend {
    get throws(NftablesError) {
      if let firewall { return firewall }
      let opened = try NftablesBackend()
      firewall = opened
      return opened
    }
  }

  /// What of our table is not as this one would be listed: lines that are missing, and lines that are too many. To know it, the calling
  /// thread goes to an empty network, and stays there; `nil` where it may not.
  package func firewallDifference(from table: FirewallTable) -> (missing: [String], extra: [String])? {
    guard let found = firewall?.lines, clinux_new_network() == 0, let scratch = try? NftablesBackend(),
      (try? scratch.replace(table)) != nil,
      let wanted = scratch.lines
    else { return nil }
    let difference = found.difference(from: wanted)
    func text(_ change: CollectionDifference<String>.Change) -> String {
      switch change {
      case .insert(_, let line, _), .remove(_, let line, _): line
      }
    }
    return (difference.removals.map(text), difference.insertions.map(text))
  }

  // MARK: Facts

  private func sources(_ kernel: KernelState, _ facts: Set<FactKind>) -> SnapshotInputs {
    let radios = wifi.read(links: kernel.links, details: !facts.isDisjoint(with: [.bssid, .wifiSecurity]))
    var sources = SnapshotInputs(
      kernel: kernel, mediums: mediums(of: kernel.links, radios: Set(radios.keys)), wifi: radios,
      ssidFile: facts.contains(.ssid) ? ssidFile.map(ssidFact) : nil, needed: facts, lookedAt: Int64(time(nil)))
    if facts.contains(.time) { sources.direct.time = .known(.now) }
    if facts.contains(.power) { sources.direct.power = powerSource() }
    if !facts.isDisjoint(with: .ofHostServices) {
      sources.host = host.reports(about: kernel.linksInUse, resolvConf: underlayResolver)
    }
    return sources
  }

  private var underlayResolver: Answer<ResolvConfReport> {
    switch resolvConf.underlayText() {
    case .known(let text): ResolvConfReport(parsing: text).without(resolver.ownServers)
    case .unknown(let reason): .unavailable(reason: reason)
    }
  }

  private func mediums(of links: [Link], radios: Set<InterfaceIndex>) -> [InterfaceIndex: Medium] {
    var facts: [DeviceIdentity: DeviceAttachment] = [:]
    let mediums = KernelNetwork.mediums(of: links, radios: radios) { link in
      // What a device is plugged into does not change. One end of a virtual cable is plugged into nothing, and there may be thousands.
      let known = busFacts[link.device] ?? (link.kind == "veth" ? DeviceAttachment() : DeviceAttachment(of: link))
      facts[link.device] = known
      return known
    }
    busFacts = facts
    return mediums
  }

  /// Asks for a neighbour's hardware address. Whether it answers is the kernel's to tell, and so no answer is waited for here.
  func resolveNeighbour(_ address: IPAddress, on link: LinkFacts) {
    guard let index = lastRead?.link(named: link.name)?.index else { return }
    try? applier.resolveNeighbour(address, on: index)
  }

  /// The device of a link as it is now, by the kind that the link had at the last look.
  package func readDevice(_ link: String) -> WireGuardState? { lastRead.flatMap { state(of: link, in: $0) } }

  private func state(of link: String, in kernel: KernelState) -> WireGuardState? {
    guard let found = kernel.link(named: link) else { return nil }
    return wireGuardState(of: link, by: found.kind == "wireguard" ? .kernel : .userspace)
  }

  private func wireGuardState(of link: String, by engine: WireGuardEngine) -> WireGuardState? {
    switch engine {
    case .kernel: (try? wireGuard.read(link)) ?? nil
    case .userspace: (try? userspace.read(link)) ?? nil
    }
  }
}

extension KernelState {
  /// Links that carry addresses, which programs of the host may speak of.
  fileprivate var linksInUse: [Link] {
    let names = Set(addresses.map(\.link))
    return links.filter { names.contains($0.name) && $0.isUp && !$0.isLoopback && Ownership.tunnel(ofAlias: $0.alias) == nil }
  }
}

extension Step {
  /// Whether something else than the kernel has to carry it out.
  fileprivate var isOutsideKernel: Bool {
    switch traits.executor {
    case .firewall, .resolverFile, .userspaceEngine: true
    // One that programs of the resolver take comes another way; the applier refuses it.
    case .kernelInBatches, .kernel, .resolverProgram: false
    }
  }
}

/// A missing file is no network; one that cannot be read is not known.
private func ssidFact(_ path: String) -> Fact<SSID?> {
  do throws(SystemError) {
    return parseSSIDFact(try TextFile.read(path, limit: 4096))
  } catch {
    return error.code == ENOENT ? .known(nil) : .unknown(reason: "SSID file: \(error)")
  }
}
