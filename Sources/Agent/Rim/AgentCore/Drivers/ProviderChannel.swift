internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// The program of an installed provider, and the channel to it: carries out the effects of its life, and passes on messages to it.
final class ProviderChannel {
  private let tunnel: String
  private let configuration: InstalledProviderConfiguration
  private let platform: Platform
  private let outlets: DriverOutlets
  var life = ProviderLife()
  private(set) var messages = ProviderMessages()
  /// Called with what the program asks for or says.
  var take: (ProviderSession.Action) -> Void = { _ in }
  /// The network for a run that begins.
  var path: () -> NetworkPath? = { nil }

  init(_ configuration: InstalledProviderConfiguration, tunnel: String, platform: Platform, outlets: DriverOutlets) {
    self.configuration = configuration
    self.tunnel = tunnel
    self.platform = platform
    self.outlets = outlets
  }

  /// Its policy is gone: a program that a message has started ends too.
  deinit { if life.session != nil { platform.installed.end(tunnel) } }

  /// The credential that a person may give for a start.
  private static let password: Word = "password"

  private var now: Moment { platform.clock.now() }

  var nextDeadline: Moment? { [life.session?.nextDeadline, messages.nextDeadline].compactMap(\.self).min() }

  func prepare() { carryOut(life.prepare(mark: outlets.outerWay().mark)) }

  func tearDown() { carryOut(life.tearDown()) }

  func expireMessages() { messages.expire(at: now, of: tunnel) }

  func advance() {
    guard let due = life.session?.nextDeadline, due <= now else { return }
    perform { [now] in $0.advance(to: now) }
  }

  // MARK: The session

  func perform(_ body: (inout ProviderSession) -> [ProviderSession.Action]) {
    guard var session = life.session else { return }
    let actions = body(&session)
    life.session = session
    for action in actions { carryOut(action) }
  }

  /// The same for what the protocol may refuse: a mistake of the agent, which fails the run.
  func attempt(_ body: (inout ProviderSession) throws(ProviderSession.Unsendable) -> [ProviderSession.Action]) {
    guard var session = life.session else { return }
    do throws(ProviderSession.Unsendable) {
      let actions = try body(&session)
      life.session = session
      for action in actions { carryOut(action) }
    } catch {
      outlets.report(.failed(TunnelFailure(.providerFailed, "the request to its provider cannot be sent: \(error)")))
    }
  }

  func refuse(_ id: UInt32, _ code: Word, _ text: String) {
    attempt { (session) throws(ProviderSession.Unsendable) in
      try session.refuse(id: id, Refusal(code: code, text: String(text.prefix(1000))))
    }
  }

  /// Does what concerns the channel and the program; the rest concerns the tunnel.
  private func carryOut(_ action: ProviderSession.Action) {
    switch action {
    case .send(let bytes, let attachment): platform.installed.send(tunnel, bytes, attachment)
    case .stateChanged(.idle):
      carryOut(life.becameIdle())
      sendMessages()
    case .replied(let id, let reply):
      if let time = messages.replied(id, at: now, reply) {
        outlets.publish(.log(level: "debug", origin: "agent", text: "message \(id): reply after \(time.milliseconds) ms"))
      }
      carryOut(life.messageEnded(hasMessages: messages.isOpen))
    case .runEnded(let end): runEnded(end)
    case .neverGreeted(let failure): carryOut(life.end(after: FailedStart(failure)))
    case .close: carryOut(life.end())
    case .keep(let bytes): keep(bytes)
    case .event(let name, let data): outlets.publish(.event(name: name.description, data))
    case .log(let line): outlets.publish(.log(level: line.level.rawValue, origin: line.origin.description, text: line.text))
    case .dropped(let count):
      outlets.publish(.log(level: "warning", origin: "agent", text: "\(count) events and lines came too fast and were dropped"))
    case .violated(let violation): outlets.publish(.log(level: "error", origin: "agent", text: "\(violation)"))
    default: take(action)
    }
  }

  private func runEnded(_ end: ProviderSession.RunEnd) {
    let validities = life.run.validities
    let (isOfTunnel, effects) = life.runEnded(hasMessages: messages.isOpen)
    carryOut(effects)
    guard isOfTunnel, case .failed(let failure) = end else { return }
    let cause = validities.cause(of: failure, at: platform.clock.wallClock())
    outlets.report(.failed(TunnelFailure(cause, of: tunnel)))
    outlets.changed()
  }

  // MARK: The program

  private func carryOut(_ effects: [ProviderLife.Effect]) {
    for effect in effects {
      switch effect {
      case .startProgram: startProgram()
      case .endProgram: platform.installed.end(tunnel)
      case .startRun: startRun()
      case .stopRun:
        let reason = StopReason(outlets.cause())
        perform { [now] in $0.stop(reason, at: now) }
      case .report(let text): outlets.report(.failed(TunnelFailure(.providerFailed, text)))
      case .log(let text): outlets.publish(.log(level: "error", origin: "agent", text: text))
      }
    }
  }

  /// The tunnel's name, as far as the protocol takes it.
  var shortName: String { String(decoding: tunnel.utf8.prefix(64), as: UTF8.self) }

  private func startProgram() {
    do throws(PlatformError) {
      let mark = outlets.outerWay().mark
      try platform.installed.start(tunnel, configuration.program, mark) { [weak self] in self?.hear($0) }
      life.programStarted(.init(session: ProviderSession(tunnel: shortName, at: now), mark: mark))
    } catch {
      startFailed(error.description)
    }
  }

  private func startFailed(_ text: String) {
    let refusal = Refusal(code: "provider-failed", text: text)
    let effects = life.startFailed(refusal, at: now)
    messages.fail(refusal)
    carryOut(effects)
  }

  /// Takes an event on the channel, or the end of the program.
  func hear(_ event: ProviderChannelEvent) {
    switch event {
    case .message(let bytes, let hasDescriptor): perform { [now] in $0.receive(bytes, hasDescriptor: hasDescriptor, at: now) }
    case .closed:
      perform { $0.channelClosed() }
      carryOut(life.end())
    case .ended(let code):
      perform { $0.channelClosed() }
      let (failed, effects) = life.programEnded(hasWaitingMessages: messages.isWaiting)
      if let failed { startFailed(failed.text(code: code, configuration.program)) }
      carryOut(effects)
      outlets.changed()
    }
  }

  private func startRun() {
    let hasKept: Bool
    let password = outlets.takePassword(tunnel)
    do throws(PlatformError) {
      hasKept = try platform.installed.openCredentials(tunnel, configuration)
      if let password { try platform.installed.keepSecret(tunnel, .credential(Self.password), password) }
    } catch {
      carryOut(life.cannotBeginRun(error.description, hasMessages: messages.isOpen))
      return outlets.changed()
    }
    let path = path()
    life.beginRun(on: path)
    let request = StartRequest(options: configuration.options, network: path, mayAsk: configuration.program.needs.contains(.ask))
    var names = configuration.credentials.compactMap { Word($0.name) } + (hasKept ? [ProtocolLimits.keptCredential] : [])
    if password != nil, !names.contains(Self.password) { names.append(Self.password) }
    attempt { [now] (session) throws(ProviderSession.Unsendable) in try session.start(request, credentials: names, at: now) }
  }

  private func keep(_ bytes: [UInt8]) {
    do throws(PlatformError) {
      try platform.installed.keep(tunnel, configuration, bytes)
    } catch {
      outlets.publish(.log(level: "error", origin: "agent", text: "what the provider wants to keep cannot be written: \(error)"))
    }
  }

  /// Says why the program of another agent is not taken over.
  func sayReplaced(_ reason: String) {
    outlets.publish(.log(level: "warning", origin: "agent", text: "the restart of the agent replaces the provider: \(reason)"))
  }

  /// The same, and ends it: after it has stopped its run, if it can be asked to (`resumed`).
  func replace(_ reason: String, _ resumed: ProviderSession?, mark: UInt32) {
    sayReplaced(reason)
    life.replace(.init(session: resumed ?? ProviderSession(tunnel: shortName, at: now), mark: mark))
    if resumed != nil { perform { [now] in $0.stop(.policyChanged, at: now) } } else { carryOut(life.end()) }
  }

  // MARK: Messages of applications

  /// Sends an application's message; starts the program for it if none runs.
  func message(_ content: MessageContent, then reply: @escaping (MessageReply) -> Void) {
    if life.isLeft { return reply(.failure(Refusal(code: "unavailable", text: "the agent is restarted; try again"))) }
    if let refusal = life.recentFailure(at: now) { return reply(.failure(refusal)) }
    messages.wait(content, at: now, reply)
    carryOut(life.messageCame())
    sendMessages()
  }

  private func sendMessages() {
    guard let state = life.usable?.session.state, state != .greeting, state != .closed else { return }
    for waiting in messages.takeWaiting() {
      do throws(ProviderSession.Unsendable) {
        guard var session = life.session else { continue }
        let (id, actions) = try session.message(waiting.content, at: now)
        life.session = session
        messages.sent(id, at: now, waiting.reply)
        for action in actions { carryOut(action) }
      } catch {
        waiting.reply(.failure(Refusal(code: "invalid", text: "the message cannot be sent: \(error)")))
      }
    }
  }
}
