internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// Drives a tunnel of an installed provider: starts its program, and does for it what needs privileges. The protocol is `ProviderSession`.
///
/// The link exists from the first request that needs one. Routes and name servers follow when the provider is ready.
final class InstalledDriver: RoamingDriver, TimedDriver, SamplingDriver, SettingsDriver, CuttableDriver {
  let tunnel: String
  let platform: Platform
  let outlets: DriverOutlets
  let configuration: InstalledProviderConfiguration
  /// The tunnel's policy, by which settings are judged.
  let policy: () -> TunnelPolicy
  /// The channel to the program that runs; `nil`: none runs.
  var session: ProviderSession?
  var program = ProgramState()
  var run = RunState()
  /// Whether a run is wanted and has not been started.
  var isStartDue = false
  var underlay: LinkFacts?
  var messages = ProviderMessages()
  /// The questions that no person has answered yet, the oldest first.
  var questions: [OpenQuestion] = [] {
    didSet { if !(oldValue.isEmpty && questions.isEmpty) { tellWhoIsAsked() } }
  }

  /// The last start whose program never said `hello`.
  var failedStart: (at: Moment, refusal: Refusal)?
  /// The number of losses in a row: nothing came back through its link (`ProviderWatch`).
  var losses = 0

  /// The program that runs.
  struct ProgramState {
    var isEnding = false
    /// Whether it waits for the next agent.
    var isLeft = false
    /// Whether it was started by another definition, or for another place: after its run another one is started.
    var isOutdated = false
    /// Whether there is something kept for the provider, which its next start brings.
    var hasKept = false
    /// The firewall mark of its sockets.
    var mark = Ownership.mark
    /// The reason why it never said `hello`, until all its processes have ended.
    var start: FailedStart?
  }

  /// A run of the provider, from the preparation of its start.
  struct RunState {
    /// The network that the provider knows.
    var path: NetworkPath?
    var pending = PendingRequests()
    /// Whether `prepared` was reported: the link is wanted from then on.
    var isPrepared = false
    /// Whether the link has been made in this run. Another program may have removed it since.
    var hasLink = false
    /// The last settings that the provider asked for, and what the policy has made of them.
    var wanted: TunnelSettings?
    var brought = BroughtSettings()
    var refused: [RefusedSetting] = []
    /// Whether it was taken over, and has not been asked since: it has slept as little as it has moved.
    var isTakenOver = false
    /// The transport of its packets, in the provider's words.
    var transport: String?
    var validities = ProviderValidities()
    var watch = ProviderWatch()
  }

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

  var brought: BroughtSettings { run.brought }
  var refused: [RefusedSetting] { run.refused }

  var link: String { TunnelSetup.linkName(forTunnel: tunnel) }

  func device(whileAwaiting: Bool) -> DesiredLink.Device? {
    run.isPrepared ? DesiredLink.Device(of: configuration.program, link: link) : nil
  }

  // MARK: What the machine wants

  func prepare(on underlay: LinkFacts?) {
    forgetRun()
    self.underlay = underlay
    isStartDue = true
    // The program of the run before is still ending.
    if program.isEnding || program.isOutdated { return }
    if session == nil { return startProgram() }
    // A message has started it while its outer tunnel was down, or another one.
    if program.mark != outlets.outerWay().mark { return endProgram() }
    startRun()
  }

  func probePeer(on underlay: LinkFacts?) { tell(underlay) }

  /// The provider is told of the new network, and says itself if it carries nothing there.
  func reassert(on underlay: LinkFacts?) { askWhetherConnected(on: underlay) }

  /// After a sleep.
  func renewSessions(on underlay: LinkFacts?) {
    if !run.isTakenOver { perform { $0.wake() } }
    askWhetherConnected(on: underlay)
  }

  private func askWhetherConnected(on underlay: LinkFacts?) {
    run.isTakenOver = false
    tell(underlay)
    if !questions.isEmpty { tellWhoIsAsked() }
    if session?.state == .connected { outlets.report(.peerAnswered) }
  }

  /// A person has time for an answer, whatever the tunnel waits for.
  private func tellWhoIsAsked() { outlets.report(.asks(until: questions.map(\.until).max())) }

  func learn(_ underlay: LinkFacts?) { tell(underlay) }

  /// Tells the provider of another network below it.
  private func tell(_ underlay: LinkFacts?) {
    self.underlay = underlay
    guard let session, session.isRunning, session.state != .stopping else { return }
    let new = underlay.map(NetworkPath.init)
    guard new != run.path else { return }
    run.path = new
    if new != nil { expectReaction() }
    attempt { (session) throws(ProviderSession.Unsendable) in try session.networkChanged(new) }
  }

  func release() {
    isStartDue = false
    run.isPrepared = false
    run.pending = PendingRequests()
    guard let session, !program.isEnding else { return }
    guard session.isRunning else { return endProgram() }
    let reason = StopReason(outlets.cause())
    perform { [now] in $0.stop(reason, at: now) }
  }

  func cutShort() { platform.installed.cut(tunnel) }

  // MARK: Time

  var now: Moment { platform.clock.now() }

  var nextDeadline: Moment? {
    ([session?.nextDeadline, messages.nextDeadline, run.watch.reactionDue, run.validities.due].compactMap(\.self) + questions.map(\.until))
      .min()
  }

  /// Tells people of certificates that end, or have ended.
  func tellValidities() {
    let clock = platform.clock.wallClock()
    let changed = run.validities.advance(to: clock, now)
    for validity in changed { outlets.publish(.log(level: "warning", origin: "agent", text: validity.text(at: clock))) }
    if !changed.isEmpty { outlets.changed() }
  }

  func advance() {
    messages.expire(at: now, of: tunnel)
    judgeReaction()
    tellValidities()
    for question in questions where question.until <= now { answer(question.number, .expired) }
    guard let due = session?.nextDeadline, due <= now else { return }
    perform { [now] in $0.advance(to: now) }
  }

  // MARK: The program

  private func startProgram() {
    do throws(PlatformError) {
      program.mark = outlets.outerWay().mark
      program.hasKept = try platform.installed.start(tunnel, configuration, program.mark) { [weak self] event in self?.take(event) }
      session = ProviderSession(tunnel: String(decoding: tunnel.utf8.prefix(64), as: UTF8.self), at: now)
    } catch {
      startFailed(error.description)
    }
  }

  func endProgram() {
    guard session != nil, !program.isEnding else { return }
    program.isEnding = true
    platform.installed.end(tunnel)
  }

  func take(_ event: ProviderChannelEvent) {
    switch event {
    case .message(let bytes, let hasDescriptor): perform { [now] in $0.receive(bytes, hasDescriptor: hasDescriptor, at: now) }
    case .closed:
      perform { $0.channelClosed() }
      endProgram()
    case .ended(let code):
      perform { $0.channelClosed() }
      session = nil
      let start = program.start
      (program.isEnding, program.isOutdated, program.start) = (false, false, nil)
      if let start {
        startFailed(start.text(code: code, configuration.program))
      } else if isStartDue || messages.isWaiting {
        startProgram()
      }
      outlets.changed()
    }
  }

  private func startRun() {
    guard isStartDue, !program.isOutdated, session?.state == .idle else { return }
    isStartDue = false
    run.path = underlay.map(NetworkPath.init)
    let request = StartRequest(options: configuration.options, network: run.path, mayAsk: configuration.program.needs.contains(.ask))
    let names = configuration.credentials.compactMap { Word($0.name) } + (program.hasKept ? [ProtocolLimits.keptCredential] : [])
    program.hasKept = false
    attempt { [now] (session) throws(ProviderSession.Unsendable) in try session.start(request, credentials: names, at: now) }
  }

  private func forgetRun() {
    let lastIncluded = run.brought.lastIncluded
    run = RunState()
    run.brought.lastIncluded = lastIncluded
  }

  // MARK: Messages of applications

  /// Sends an application's message; starts the program for it if none runs.
  func message(_ content: MessageContent, then reply: @escaping (MessageReply) -> Void) {
    if program.isLeft { return reply(.failure(Refusal(code: "unavailable", text: "the agent is restarted; try again"))) }
    if session == nil, let failedStart, now < failedStart.at + .seconds(1) { return reply(.failure(failedStart.refusal)) }
    messages.wait(content, at: now, reply)
    if session == nil { startProgram() }
    sendMessages()
  }

  private func sendMessages() {
    guard let state = session?.state, state != .greeting, state != .closed, !program.isEnding, !program.isOutdated else { return }
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

  func perform(_ body: (inout ProviderSession) -> [ProviderSession.Action]) {
    guard var session else { return }
    let actions = body(&session)
    self.session = session
    carryOut(actions)
  }

  /// The same for what the protocol may refuse: a mistake of the agent, which fails the run.
  func attempt(_ body: (inout ProviderSession) throws(ProviderSession.Unsendable) -> [ProviderSession.Action]) {
    guard var session else { return }
    do throws(ProviderSession.Unsendable) {
      let actions = try body(&session)
      self.session = session
      carryOut(actions)
    } catch {
      outlets.report(.failed(TunnelFailure(.providerFailed, "the request to its provider cannot be sent: \(error)")))
    }
  }

  func refuse(_ id: UInt32, _ code: Word, _ text: String) {
    attempt { (session) throws(ProviderSession.Unsendable) in
      try session.refuse(id: id, Refusal(code: code, text: String(text.prefix(1000))))
    }
  }

  private func carryOut(_ actions: [ProviderSession.Action]) { for action in actions { carryOut(action) } }

  /// Reports to the tunnel's machine what has come from outside the agent.
  func report(_ event: TunnelMachine.Event) {
    outlets.report(event)
    outlets.changed()
  }

  func entered(_ state: ProviderSession.State) {
    switch state {
    case .idle:
      startRun()
      sendMessages()
    case .connected:
      beginWatch()
      report(.peerAnswered)
    case .greeting, .starting, .reasserting, .stopping, .closed: break
    }
  }

  func ended(_ end: ProviderSession.RunEnd) {
    (run.isPrepared, run.transport, run.validities) = (false, nil, ProviderValidities())
    let wasOutdated = program.isOutdated
    if wasOutdated || !isStartDue && !messages.isOpen { endProgram() }
    // That of the next run is another matter.
    guard case .failed(let failure) = end, !wasOutdated else { return }
    report(.failed(TunnelFailure(failure, of: tunnel)))
  }
}
