internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// Drives a tunnel of an installed provider: starts its program, and does for it what needs privileges. The protocol is `ProviderSession`.
///
/// The link exists from the first request that needs one. Routes and name servers follow when the provider is ready.
final class InstalledDriver: TunnelDriver {
  let tunnel: String
  let platform: Platform
  let outlets: DriverOutlets
  private let configuration: InstalledProviderConfiguration
  /// The tunnel's policy, by which settings are judged.
  private let policy: () -> TunnelPolicy
  /// The channel to the program that runs; `nil`: none runs.
  private(set) var session: ProviderSession?
  private var isEnding = false
  /// Whether there is something kept for the provider, which its next start brings.
  private var hasKept = false
  /// The firewall mark of its sockets.
  private var mark = Ownership.mark
  /// Whether a run is wanted and has not been started.
  private var isStartDue = false
  private var path: NetworkPath?
  private var underlay: LinkFacts?
  private var pending = PendingRequests()
  private(set) var brought = BroughtSettings()
  private(set) var refused: [RefusedSetting] = []
  /// Whether `prepared` was reported: the link is wanted from then on.
  private var isPrepared = false
  /// The last settings that the provider asked for.
  private var wanted: TunnelSettings?
  /// Whether it was taken over, and has not been asked since: it has slept as little as it has moved.
  private var isTakenOver = false
  /// Whether the program waits for the next agent.
  private var isLeft = false
  /// Whether the program was started by another definition, or for another place: after its run another one is started.
  private var isOutdated = false
  private var messages = ProviderMessages()
  /// What no person has answered yet, the first first.
  private(set) var questions: [OpenQuestion] = []

  init(
    _ configuration: InstalledProviderConfiguration, tunnel: String, policy: @escaping () -> TunnelPolicy, platform: Platform,
    outlets: DriverOutlets
  ) {
    self.configuration = configuration
    self.tunnel = tunnel
    self.policy = policy
    self.platform = platform
    self.outlets = outlets
  }

  /// Its policy is gone: a program that a message has started ends too.
  deinit { if session != nil { platform.installed.end(tunnel) } }

  var engineName: String { session.map(\.program).flatMap { $0.isEmpty ? nil : $0 } ?? configuration.program.name }

  var isReleased: Bool { session == nil }

  let isPolled = false

  private var link: String { TunnelSetup.linkName(forTunnel: tunnel) }

  func device(whileAwaiting: Bool) -> DesiredLink.Device? {
    isPrepared ? DesiredLink.Device(of: configuration.program, link: link) : nil
  }

  // MARK: What the machine wants

  func prepare(on underlay: LinkFacts?) {
    forgetRun()
    self.underlay = underlay
    isStartDue = true
    // The program of the run before is still ending.
    if isEnding || isOutdated { return }
    if session == nil { return startProgram() }
    // A message has started it while its outer tunnel was down, or another one.
    if mark != outlets.outerWay().mark { return endProgram() }
    startRun()
  }

  func probePeer(on underlay: LinkFacts?) { tell(underlay) }

  /// The provider is told of the new network, and says itself if it carries nothing there.
  func reassert(on underlay: LinkFacts?) { askWhetherConnected(on: underlay) }

  /// After a sleep.
  func renewSessions(on underlay: LinkFacts?) {
    if !isTakenOver { perform { $0.wake() } }
    askWhetherConnected(on: underlay)
  }

  private func askWhetherConnected(on underlay: LinkFacts?) {
    isTakenOver = false
    tell(underlay)
    if session?.state == .connected { outlets.report(.peerAnswered) }
  }

  func learn(_ underlay: LinkFacts?) { tell(underlay) }

  /// Tells the provider of another network below it.
  private func tell(_ underlay: LinkFacts?) {
    self.underlay = underlay
    guard let session, session.isRunning, session.state != .stopping else { return }
    let new = underlay.map(NetworkPath.init)
    guard new != path else { return }
    path = new
    attempt { (session) throws(ProviderSession.Unsendable) in try session.networkChanged(new) }
  }

  func isAnswered(by state: WireGuardState?) -> Bool { false }

  func askAgain() {}

  func release() {
    isStartDue = false
    isPrepared = false
    pending = PendingRequests()
    guard let session, !isEnding else { return }
    guard session.isRunning else { return endProgram() }
    let reason = StopReason(outlets.cause())
    perform { [now] in $0.stop(reason, at: now) }
  }

  func cutShort() { platform.installed.cut(tunnel) }

  // MARK: Time

  private var now: Moment { platform.clock.now() }

  var nextDeadline: Moment? { ([session?.nextDeadline].compactMap(\.self) + questions.map(\.until)).min() }

  func advance() {
    for question in questions where question.until <= now { answer(question.number, .expired) }
    guard let due = session?.nextDeadline, due <= now else { return }
    perform { [now] in $0.advance(to: now) }
  }

  // MARK: Questions

  private func ask(_ id: UInt32, _ question: Question) {
    guard configuration.program.needs.contains(.ask) else { return answer(id, .unavailable) }
    questions.append(OpenQuestion(number: id, question: question, until: now + OpenQuestion.patience))
    outlets.publish(.question(number: Int(id), kind: question.kind.rawValue, prompt: question.prompt))
    outlets.changed()
  }

  private func answer(_ id: UInt32, _ outcome: AnswerOutcome) {
    questions.removeAll { $0.number == id }
    attempt { [now] (session) throws(ProviderSession.Unsendable) in try session.answer(id: id, outcome, at: now) }
  }

  /// A person has answered the first open question, or this one; `nil`: declined. Throws what is wrong with the answer.
  func answer(_ number: Int?, with text: String?) throws(Refusal) {
    guard let open = questions.first(where: { number == nil || Int($0.number) == number }) else {
      throw Refusal(code: "no-question", text: "\(tunnel) asks nothing now")
    }
    guard let text else { return answer(open.number, .declined) }
    if open.question.kind.isSecret {
      guard !text.isEmpty, text.utf8.count <= 4096 else {
        throw Refusal(code: "invalid", text: "an answer has 1 to 4,096 bytes")
      }
      do throws(PlatformError) {
        try platform.installed.keepSecret(tunnel, .secret(id: open.number), Array(text.utf8))
      } catch {
        throw Refusal(code: "unavailable", text: error.description)
      }
    }
    answer(open.number, .answered)
  }

  // MARK: The link

  /// The link is as the plan wants it: requests that waited for that are answered.
  func applied() {
    let (devices, settings) = pending.take()
    for id in devices { configuration.program.needs.contains(.xfrm) ? openXFRM(id) : openDevice(id) }
    if let settings {
      attempt { (session) throws(ProviderSession.Unsendable) in
        try session.settingsApplied(id: settings, refused: self.refused)
      }
    }
  }

  private func openDevice(_ id: UInt32) {
    do throws(PlatformError) {
      let mtu = try platform.installed.openDevice(tunnel, id, link)
      attempt { (session) throws(ProviderSession.Unsendable) in try session.deviceOpened(id: id, interface: link, mtu: mtu) }
    } catch {
      refuse(id, "unavailable", error.description)
    }
  }

  private func openXFRM(_ id: UInt32) {
    let found = XFRMLink(interface: link, identifier: Ownership.xfrmIdentifier(ofLink: link), mark: mark, mask: .max)
    attempt { (session) throws(ProviderSession.Unsendable) in try session.xfrmOpened(id: id, found) }
  }

  // MARK: The program

  private func startProgram() {
    do throws(PlatformError) {
      mark = outlets.outerWay().mark
      hasKept = try platform.installed.start(tunnel, configuration, mark) { [weak self] event in self?.take(event) }
      session = ProviderSession(tunnel: String(decoding: tunnel.utf8.prefix(64), as: UTF8.self), at: now)
    } catch {
      isStartDue = false
      messages.fail(Refusal(code: "provider-failed", text: error.description))
      outlets.report(.failed(TunnelFailure(.providerFailed, error.description)))
    }
  }

  private func endProgram() {
    guard session != nil, !isEnding else { return }
    isEnding = true
    platform.installed.end(tunnel)
  }

  private func take(_ event: ProviderChannelEvent) {
    switch event {
    case .message(let bytes, let hasDescriptor): perform { [now] in $0.receive(bytes, hasDescriptor: hasDescriptor, at: now) }
    case .closed:
      perform { $0.channelClosed() }
      endProgram()
    case .ended:
      perform { $0.channelClosed() }
      session = nil
      (isEnding, isOutdated) = (false, false)
      if isStartDue || messages.isWaiting { startProgram() }
      outlets.changed()
    }
  }

  private func startRun() {
    guard isStartDue, !isOutdated, session?.state == .idle else { return }
    isStartDue = false
    path = underlay.map(NetworkPath.init)
    let request = StartRequest(options: configuration.options, network: path, mayAsk: configuration.program.needs.contains(.ask))
    let names = configuration.credentials.compactMap { Word($0.name) } + (hasKept ? [ProtocolLimits.keptCredential] : [])
    hasKept = false
    attempt { [now] (session) throws(ProviderSession.Unsendable) in try session.start(request, credentials: names, at: now) }
  }

  private func forgetRun() {
    isPrepared = false
    pending = PendingRequests()
    let lastIncluded = brought.lastIncluded
    brought = BroughtSettings()
    brought.lastIncluded = lastIncluded
    refused = []
    wanted = nil
    isTakenOver = false
  }

  // MARK: The restart of the agent

  /// Leaves the program to the next agent. While one side owes an answer it cannot be left.
  func handOver() -> DriverHandOver? {
    guard isPrepared, !isEnding, !isStartDue, !messages.isOpen, let wanted, let resumption = session?.resumption,
      var note = ProviderHandOver(resumption, configuration, settings: wanted, network: path, gateways: brought.gateways, mark: mark),
      let process = platform.installed.handOver(tunnel)
    else { return nil }
    note.process = process
    session = nil
    isLeft = true
    return DriverHandOver(provider: note.text)
  }

  /// Goes on with the program of another agent. One that this agent would not have started so is ended, and a new one is started.
  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool {
    guard session == nil, let note = ProviderHandOver(left.provider) else { return false }
    let noted = UInt32(clamping: note.mark)
    guard platform.installed.adopt(tunnel, note.process, noted, { [weak self] event in self?.take(event) }) else {
      return isReplaced("its program has ended", isRunning: false)
    }
    mark = noted
    let name = String(decoding: tunnel.utf8.prefix(64), as: UTF8.self)
    guard let resumed = ProviderSession(resuming: note.resumption, tunnel: name, at: now), let settings = note.wantedSettings,
      let known = note.knownNetwork
    else { return isReplaced("it speaks version \(note.version) of the protocol, and this agent version \(ProtocolLimits.version)") }
    if note.definition != configuration.definition { return isReplaced("its policy or its manifest was changed", resumed) }
    if mark != outlets.outerWay().mark { return isReplaced("the tunnel that it goes through is another one") }
    if !left.isFitting { return isReplaced("its place among the tunnels is another one", resumed) }
    if !left.hasLink { return isReplaced("its link is gone", resumed) }
    session = resumed
    brought.gateways = note.gateways.compactMap { IPAddress($0) }
    judge(settings)
    (path, self.underlay, isPrepared, isTakenOver) = (known, underlay, true, true)
    return true
  }

  /// Says why the program of another agent is not taken over, and ends it: after it has stopped its run, if it can be asked to.
  private func isReplaced(_ reason: String, _ resumed: ProviderSession? = nil, isRunning: Bool = true) -> Bool {
    outlets.publish(.log(level: "warning", origin: "agent", text: "the restart of the agent replaces the provider: \(reason)"))
    guard isRunning else { return false }
    isOutdated = true
    session = resumed ?? ProviderSession(tunnel: String(decoding: tunnel.utf8.prefix(64), as: UTF8.self), at: now)
    if resumed != nil { perform { [now] in $0.stop(.policyChanged, at: now) } } else { endProgram() }
    return false
  }

  // MARK: Messages of applications

  /// Sends an application's message; starts the program for it if none runs.
  func message(_ content: MessageContent, then reply: @escaping (MessageReply) -> Void) {
    if isLeft { return reply(.failure(Refusal(code: "unavailable", text: "the agent is restarted; try again"))) }
    messages.wait(content, reply)
    if session == nil { return startProgram() }
    sendMessages()
  }

  private func sendMessages() {
    guard let state = session?.state, state != .greeting, state != .closed, !isEnding, !isOutdated else { return }
    for waiting in messages.takeWaiting() {
      do throws(ProviderSession.Unsendable) {
        guard let (id, actions) = try session?.message(waiting.content, at: now) else { continue }
        messages.sent(id, at: now, waiting.reply)
        carryOut(actions)
      } catch {
        waiting.reply(.failure(Refusal(code: "invalid", text: "the message cannot be sent: \(error)")))
      }
    }
  }

  // MARK: Actions

  private func perform(_ body: (inout ProviderSession) -> [ProviderSession.Action]) {
    guard var session else { return }
    let actions = body(&session)
    self.session = session
    carryOut(actions)
  }

  /// The same for what the protocol may refuse: a mistake of the agent, which fails the run.
  private func attempt(_ body: (inout ProviderSession) throws(ProviderSession.Unsendable) -> [ProviderSession.Action]) {
    guard var session else { return }
    do throws(ProviderSession.Unsendable) {
      let actions = try body(&session)
      self.session = session
      carryOut(actions)
    } catch {
      outlets.report(.failed(TunnelFailure(.providerFailed, "the request to its provider cannot be sent: \(error)")))
    }
  }

  private func refuse(_ id: UInt32, _ code: Word, _ text: String) {
    attempt { (session) throws(ProviderSession.Unsendable) in
      try session.refuse(id: id, Refusal(code: code, text: String(text.prefix(1000))))
    }
  }

  private func carryOut(_ actions: [ProviderSession.Action]) { for action in actions { carryOut(action) } }

  /// Reports to the tunnel's machine what has come from outside the agent.
  private func report(_ event: TunnelMachine.Event) {
    outlets.report(event)
    outlets.changed()
  }

  private func carryOut(_ action: ProviderSession.Action) {
    switch action {
    case .send(let bytes, let attachment): platform.installed.send(tunnel, bytes, attachment)
    case .stateChanged(let state): entered(state)
    case .apply(let id, let settings):
      judge(settings)
      pending.settings = id
      wantLink()
    case .openDevice(let id):
      guard allows(.device, id) else { return }
      pending.devices.append(id)
      wantLink()
    case .openXFRM(let id):
      guard allows(.xfrm, id) else { return }
      pending.devices.append(id)
      wantLink()
    case .openSocket(let id, let transport, let remote):
      guard allows(transport == .udp ? .udp : .tcp, id) else { return }
      openSocket(id, transport, remote)
    case .resolve(let id, let name): if allows(.resolve, id) { resolve(id, name) }
    case .ask(let id, let question): ask(id, question)
    case .withdraw(let id):
      questions.removeAll { $0.number == id }
      outlets.changed()
    case .reasserting(let code, let text): report(.reasserting("\(text) (\(code))"))
    case .replied(let id, let reply):
      if let time = messages.replied(id, at: now, reply) {
        outlets.publish(.log(level: "debug", origin: "agent", text: "message \(id): reply after \(time.milliseconds) ms"))
      }
      if session?.state == .idle, !messages.isOpen, !isStartDue { endProgram() }
    case .asleep: break
    case .keep(let bytes): keep(bytes)
    case .event(let name, let data): outlets.publish(.event(name: name.description, data))
    case .log(let line): outlets.publish(.log(level: line.level.rawValue, origin: line.origin.description, text: line.text))
    case .dropped(let count):
      outlets.publish(.log(level: "warning", origin: "agent", text: "\(count) events and lines came too fast and were dropped"))
    case .runEnded(let end): ended(end)
    case .violated(let violation): outlets.publish(.log(level: "error", origin: "agent", text: "\(violation)"))
    case .close: endProgram()
    }
  }

  private func judge(_ settings: TunnelSettings) {
    let judgement = SettingsJudgement(of: settings, for: policy(), allowance: configuration.allowance)
    let gateways = brought.gateways
    (brought, refused) = (judgement.brought, judgement.refused)
    brought.gateways = gateways
    brought.lastIncluded = brought.included
    wanted = settings
  }

  private func keep(_ bytes: [UInt8]) {
    do throws(PlatformError) {
      try platform.installed.keep(tunnel, configuration, bytes)
      hasKept = !bytes.isEmpty
    } catch {
      outlets.publish(.log(level: "error", origin: "agent", text: "what the provider wants to keep cannot be written: \(error)"))
    }
  }

  private func entered(_ state: ProviderSession.State) {
    switch state {
    case .idle:
      startRun()
      sendMessages()
    case .connected: report(.peerAnswered)
    case .greeting, .starting, .reasserting, .stopping, .closed: break
    }
  }

  private func ended(_ end: ProviderSession.RunEnd) {
    isPrepared = false
    let wasOutdated = isOutdated
    if wasOutdated || !isStartDue && !messages.isOpen { endProgram() }
    // That of the next run is another matter.
    guard case .failed(let failure) = end, !wasOutdated else { return }
    report(.failed(TunnelFailure(failure)))
  }

  /// Makes the agent set the link up, or give it other settings; `applied` follows.
  private func wantLink() {
    if isPrepared { return outlets.changed() }
    isPrepared = true
    report(.prepared)
  }

  private func allows(_ need: ProviderProgram.Need, _ id: UInt32) -> Bool {
    if configuration.program.needs.contains(need) { return true }
    refuse(id, "policy", "the provider's manifest does not name `\(need.rawValue)` among its needs")
    return false
  }

  private func openSocket(_ id: UInt32, _ transport: Transport, _ remote: Endpoint) {
    guard case .address(let address) = remote.host else { return refuse(id, "unreachable", "\(remote) has no address") }
    platform.installed.openSocket(tunnel, id, transport, remote) { [weak self] error in
      guard let self else { return }
      if let error { return refuse(id, "unreachable", error.description) }
      if !brought.gateways.contains(address) { brought.gateways.append(address) }
      attempt { (session) throws(ProviderSession.Unsendable) in try session.socketOpened(id: id) }
    }
  }

  private func resolve(_ id: UInt32, _ name: DomainName) {
    let lookup = platform.network.resolve(name, outlets.outerWay().lookup(of: name, on: underlay)) { [weak self] resolution in
      guard let self else { return }
      pending.lookups[id] = nil
      switch resolution {
      case .failed(let reason): refuse(id, "unresolved", "\(name): \(reason)")
      case .addresses(let addresses):
        attempt { (session) throws(ProviderSession.Unsendable) in try session.resolved(id: id, addresses) }
      }
    }
    if let lookup { pending.lookups[id] = lookup }
  }
}
