package import AgentCore
internal import Glibc
package import HostDNS
package import HostProxies
internal import HostServices
package import KernelModel
internal import KernelNetwork
internal import LinuxIO
package import NetworkTypes
package import ProviderGroups
package import RoamwardCore
package import SystemdIO
internal import TunnelProviders

/// This machine: observes it, and applies steps. The agent and the dry runs use the same type.
package final class LinuxMachine {
  package let resolver: HostResolver
  /// The address of proxies.
  package let proxies: ProxyPublisher
  /// The control groups of tunnels' programs.
  package let providerGroups: ProviderGroups
  package private(set) lazy var firewall = MachineFirewall(on: loop, providerGroups)
  /// The channels of their programs over a restart.
  package let descriptorStore = DescriptorStore()
  let kernel: ObservedKernel
  let engines: WireGuardEngines
  private let applier: KernelApplier
  private let ssidFile: String?
  private let loop: EventLoop
  private lazy var host = HostServices(on: loop) { [weak self] in self?.hostChanged($0) }
  /// Called when programs of this host report other facts than before; or `isFirst`, when they report awaited facts for the first time.
  package var hostChanged: (_ isFirst: Bool) -> Void = { _ in }
  /// Called when other facts are needed than before, and before any observation.
  package var needChanged: (Set<FactKind>) -> Void = { _ in }
  /// The files whose changes are not noticed, with the reason, for people.
  package var watchLimit: () -> String? = { nil }
  private var needed: Set<FactKind>?
  private var ahead = ObservationAhead()
  private var radios: RadioReader

  /// Opens the kernel's sockets, in the network namespace of the calling thread. Without a loop of the agent it has its own, which runs in
  /// `settle`.
  package init(ssidFile: String?, resolvConf: String, stateDirectory: String, loop: EventLoop? = nil) throws(PlatformError) {
    self.ssidFile = ssidFile
    providerGroups = ProviderGroups(note: "\(stateDirectory)/\(ProviderGroups.noteName)")
    do {
      self.loop = try loop ?? EventLoop()
      resolver = HostResolver(path: resolvConf, stateDirectory: stateDirectory, on: self.loop, isAgent: loop != nil)
      proxies = ProxyPublisher(stateDirectory: stateDirectory, on: self.loop, isAgent: loop != nil)
      kernel = try ObservedKernel()
      engines = try WireGuardEngines(on: self.loop)
      radios = RadioReader(wifi: try WiFiReader())
      applier = try KernelApplier()
    } catch {
      throw PlatformError("cannot query the kernel: \(error)")
    }
    resolver.originalServer = { [weak self] flow in
      self?.connections?.originalDestination(
        client: flow.client, port: flow.clientPort, listener: flow.listener, listenerPort: flow.listenerPort, isStream: flow.isStream)
    }
  }

  /// Waits until the programs of this host have answered, at most `limit`: for a dry run, which has no loop. Callable once only.
  package func settle(_ facts: Set<FactKind>, within limit: Duration = .milliseconds(1500)) {
    hostChanged = { [weak self] _ in if let self, host.isSettled { loop.stop() } }
    host.need(facts)
    guard !host.isSettled, let timer = try? loop.at(.now + limit, { [loop] in loop.stop() }) else { return }
    _ = try? loop.run()
    withExtendedLifetime(timer) {}
  }

  /// Waits, as `settle` does, until the DNS backend has answered.
  package func settleResolver(_ links: [String], within limit: Duration = .milliseconds(1500)) {
    _ = resolver.observe(Dictionary(links.map { (if_nametoindex($0), $0) }) { first, _ in first })
    resolver.changed = { [weak self] in if let self, resolver.isSettled { loop.stop() } }
    guard !resolver.isSettled, let timer = try? loop.at(.now + limit, { [loop] in loop.stop() }) else { return }
    _ = try? loop.run()
    withExtendedLifetime(timer) {}
  }

  package var resolvConf: ResolvConfBackend { resolver.file }

  /// Called with sleep and wake-up, as systemd-logind reports them.
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

  /// Observes everything. Without free descriptors it throws: a file that cannot be opened would look like a missing one.
  package func observe(_ need: ObservationRequest) throws(PlatformError) -> Observation {
    if let shortage = FileDescriptor.shortage() { throw PlatformError(shortage.reason) }
    if need.facts != needed {
      needed = need.facts
      needChanged(need.facts)
    }
    host.need(need.facts, sleep: hearsSleep)
    let parts = if let read = ahead.take(need) { read } else { try readParts(for: need) }
    let (kernel, files, underlay) = (parts.kernel, parts.files, parts.underlay)
    let snapshot = underlay.snapshot
    var state = ObservedState(kernel: kernel, resolvConf: files.file.observed)
    let links = need.resolverLinks.map { names in
      Dictionary(kernel.links.filter { names.contains($0.name) }.map { ($0.index.value, $0.name) }) { first, _ in first }
    }
    state.resolver = resolver.observe(links, by: files)
    state.firewall = firewall.observe(need.firewall)
    state.nameCapture = firewall.observeCapture(need.nameCapture)
    if need.followsSteps { firewall.isPlanned(need.firewall) }
    state.providers = providerGroups.state
    state.proxies = proxies.observe()
    state.isReversePathStrict = snapshot.primary.map(checksReversePathStrictly) ?? false
    if isIPv6Off { state.familiesOff = [.v6] }
    // Last: an answer that came meanwhile need not be polled for.
    for name in need.wireGuardLinks { state.wireGuard[name] = ahead.calling.state(of: name) { engines.state(of: $0, in: kernel) } }
    ahead.stepsFollow()
    return Observation(snapshot: snapshot, state: state, provenance: underlay.provenance)
  }

  /// Reads most of the observation that will follow these steps: with the same request as the last one. It has to come after all of them
  /// that the kernel makes.
  private func readAhead() {
    guard let request = ahead.request else { return }
    ahead.parts = try? readParts(for: request)
  }

  private func readParts(for request: ObservationRequest) throws(PlatformError) -> ObservationParts {
    let kernel = try kernel.read(request)
    let files = resolver.read()
    return ObservationParts(
      request: request, kernel: kernel, files: files, underlay: SnapshotWithSources(sources(kernel, request.facts, files)))
  }

  /// Called when announcements were set aside, or others come than count: they are to be drained soon.
  package var eventsHeld: () -> Void {
    get { kernel.eventsHeld }
    set { kernel.eventsHeld = newValue }
  }

  /// Whether the kernel has announced no change since the last read, apart from those that our own steps made.
  func isAsObserved() -> Bool { kernel.isAsObserved(butFor: applier) }

  /// Whether the kernel's state is still as it was read last, as far as its changes are announced only now. An error counts as no.
  func confirmsLastRead() -> Bool { kernel.confirmsLastRead(neighbours: needed?.contains(.gatewayMAC) ?? true) }

  private var userspace: UserspaceWireGuard { engines.userspace }

  /// Applies the steps in order; returns those that failed.
  package func apply(_ steps: [Step]) -> [StepFailure] {
    if FaultPoint.isArmed, steps.count > 1 { return steps.flatMap { apply([$0]) } }
    // The firewall is read apart from the rest.
    let keepsAhead = steps.allSatisfy { if case .replaceFirewall = $0 { true } else { false } }
    if !keepsAhead { ahead.stepsFollow() }
    if steps.allSatisfy(\.isOfRoute), !FaultPoint.isArmed { return applier.failures(of: steps) }
    for step in steps { FaultPoint.pass("before \(step)") }
    defer { for step in steps { FaultPoint.pass("after \(step)") } }
    var failures: [StepFailure] = []
    // A new engine takes its configuration while the link gets its addresses and comes up.
    let begun = steps.compactMap { begin(configuration: $0, &failures) }
    var rest = steps.filter { !begun.contains($0) }.engineStepsLate[...]
    while let step = rest.first {
      let batch = rest.prefix { !$0.isOutsideKernel }
      if batch.isEmpty {
        if let reason = applyOutsideKernel(step) { failures.append(StepFailure(step: step, reason: reason)) }
        rest = rest.dropFirst()
      } else {
        failures += applier.failures(of: Array(batch))
        rest = rest.dropFirst(batch.count)
      }
    }
    for case .configureWireGuard(let link, let device) in begun { userspace.prepareSockets(of: link, for: device) }
    if !begun.isEmpty { readAhead() }
    if !keepsAhead { ahead.calling = CallingDevices(begun) }
    for step in begun {
      guard let link = step.link else { continue }
      do throws(ProviderError) { try userspace.finishConfiguring(link) } catch {
        failures.append(StepFailure(step: step, reason: "\(error)"))
      }
    }
    for case .setUp(let link) in steps { userspace.serveSockets(of: link) }
    return failures
  }

  /// Begins the configuration of an engine that needs no read of its device before. Returns the step if it is one; it may have failed
  /// already.
  private func begin(configuration step: Step, _ failures: inout [StepFailure]) -> Step? {
    guard step.isOutsideKernel else { return nil }
    do throws(ProviderError) {
      switch step {
      case .configureWireGuard(let link, let device) where userspace.isNew(link): try userspace.beginConfiguring(link, device)
      case .renewSessions(let link, let device) where userspace.serves(link):
        try userspace.beginConfiguring(link, device, settingEndpoints: true)
      default: return nil
      }
    } catch {
      failures.append(StepFailure(step: step, reason: "\(error)"))
    }
    return step
  }

  /// Begins a change that another program makes: starts a userspace WireGuard device, or sends a request to the DNS backend. Calls back
  /// during this call if a process of the engine was ready.
  func begin(_ step: Step, then done: @escaping (Result<Void, PlatformError>) -> Void) {
    // Of our own name server nothing has been read.
    if case .setNameServer = step {} else { ahead.parts = nil }
    FaultPoint.pass("before \(step)")
    let finish = { (problem: String?) in
      FaultPoint.pass("after \(step)")
      done(problem.map { .failure(PlatformError($0)) } ?? .success(()))
    }
    if case .addWireGuardLink(let link, .userspace) = step {
      if userspace.startAtOnce(link: link) { return finish(nil) }
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

  /// Calls back at each look-up of a name whose tunnel is down, with the program that asks.
  func watchLookups(_ came: @escaping (NameLookup) -> Void) {
    let owners = try? SocketOwners()
    resolver.lookedUp = { question in
      let owner = owners?.owner(of: question.address, port: question.port, isStream: question.isStream)
      let asker = owner.map { owner in
        NameLookup.Asker(user: owner.user, controlGroup: owner.controlGroup.flatMap { LinuxIO.controlGroup(numbered: $0) })
      }
      came(NameLookup(tunnel: question.tunnel, name: question.name, asker: asker))
    }
  }

  /// Calls back when our name server has something to say about answers.
  func watchAnswers(_ came: @escaping (NameNews) -> Void) { resolver.news = came }

  /// Reads the DNS backend, its file, and its state for these links.
  func observeResolver(_ links: Set<String>?) -> ResolverObservation {
    let links = links.map { names in Dictionary(names.map { (if_nametoindex($0), $0) }) { first, _ in first }.filter { $0.key > 0 } }
    let files = resolver.read()
    return ResolverObservation(file: files.file.observed, resolver: resolver.observe(links, by: files))
  }

  private func applyOutsideKernel(_ step: Step) -> String? {
    do {
      switch step {
      case .configureWireGuard(let link, let device):
        userspace.prepareSockets(of: link, for: device)
        try userspace.configure(link, device, observed: userspace.isNew(link) ? nil : try userspace.read(link))
      // A starting device has no sessions anyway; a request would wait for it.
      case .renewSessions(let link, let device):
        if !userspace.isStarting(link) { try userspace.configure(link, device, observed: nil, settingEndpoints: true) }
      case .writeResolvConf(let file): try resolvConf.write(file)
      case .restoreResolvConf: try resolvConf.restore()
      case .replaceFirewall(let table):
        try firewall.replace(table)
      case .removeFirewall: try firewall.remove()
      case .setProxies(let publication): try proxies.publish(publication)
      case .removeProxies: try proxies.withdraw()
      case .setNameCapture(let capture):
        try firewall.replace(capture)
        connections?.forgetConnections(toPort: 53)
      case .removeNameCapture:
        try firewall.removeCapture()
        connections?.forgetConnections(toPort: 53)
      default: return "this step cannot be executed at once"
      }
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Opened at its first use.
  private lazy var connections: Conntrack? = try? Conntrack()

  // MARK: Facts

  private func sources(_ kernel: KernelState, _ facts: Set<FactKind>, _ files: ResolverReading) -> SnapshotInputs {
    let (wifi, mediums) = radios.read(kernel.links, details: !facts.isDisjoint(with: [.bssid, .wifiSecurity]))
    var sources = SnapshotInputs(
      kernel: kernel, mediums: mediums, wifi: wifi,
      ssidFile: facts.contains(.ssid) ? ssidFile.map(ssidFact) : nil, needed: facts, lookedAt: Int64(time(nil)))
    sources.direct.read(facts)
    if !facts.isDisjoint(with: .ofHostServices) {
      sources.host = host.reports(about: kernel.linksInUse, resolvConf: underlayResolver(by: files))
    }
    return sources
  }

  private func underlayResolver(by files: ResolverReading) -> Answer<ResolvConfReport> {
    switch files.file.underlayText {
    case .known(let text): ResolvConfReport(parsing: text).without(resolver.ownServers(by: files))
    case .unknown(let reason): .unavailable(reason: reason)
    }
  }

  /// Makes the kernel resolve a neighbour's hardware address. The kernel reports the result, so no answer is awaited here.
  ///
  /// A process without CAP_NET_ADMIN may not request it. A datagram to the discard port (RFC 863) has the same effect where no firewall
  /// holds it back.
  package func resolveNeighbour(_ address: IPAddress, on link: LinkFacts) {
    guard let index = kernel.lastRead?.link(named: link.name)?.index else { return }
    do throws(NetlinkError) { try applier.resolveNeighbour(address, on: index) } catch {
      guard error.code == EPERM || error.code == EACCES else { return }
      (try? DatagramPort(nil, address.family, port: 0, link: link.name))?.send([], to: address, port: 9)
    }
  }

  /// The present device of a link, by the kind of the link at the last observation.
  package func readDevice(_ link: String) -> WireGuardState? { kernel.lastRead.flatMap { engines.state(of: link, in: $0) } }

  /// Calls back once, soon after a packet has passed the link; `nil` if this process may not have such a socket.
  func watchPackets(_ link: String, _ packets: WatchedPackets, _ came: @escaping () -> Void) -> Cancellation? {
    guard let index = kernel.lastRead?.link(named: link)?.index else { return nil }
    return (try? PacketWait(on: index, packets, loop, came)).map(Cancellation.init)
  }
}

extension KernelApplier {
  /// Applies the steps; returns those that failed.
  fileprivate func failures(of steps: [Step]) -> [StepFailure] {
    apply(steps).failures.compactMap { result in result.error.map { StepFailure(step: result.step, reason: $0.reason) } }
  }
}
