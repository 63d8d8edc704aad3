package import Lives
package import ProviderLife
package import ProviderProtocol
package import RoamwardProvider

/// A provider whose tunnel is a program of another project. It carries out the effects of that program's life.
package protocol ProgramProvider: TunnelProvider {
  associatedtype Program: Sendable
  var host: ProviderHost { get }
  var life: ProgramLife<Program> { get set }
  /// Has the program end, in an orderly way. It is killed if that takes longer than five seconds.
  func leave(_ reason: StopReason)
  func kill()
  /// Has the program of a failed run end. By default it is killed.
  func abandon()
  /// The run cannot go on.
  func fail(_ failure: TunnelFailure)
  /// The agent is told next that the tunnel is ready. By default it does nothing.
  func willBeReady()
}

extension ProgramProvider {
  package func abandon() { kill() }

  package func willBeReady() {}

  package func stop(_ reason: StopReason) { perform(life.stop(reason)) }

  package func perform(_ effects: [LifeEffect]) {
    for effect in effects {
      switch effect {
      case .ready:
        willBeReady()
        host.ready()
      case .reasserting(let code, let text): host.reasserting(code, text)
      case .leave(let reason):
        leave(reason)
        host.after(.seconds(5)) { [weak self] in self?.kill() }
      case .abandon: abandon()
      case .failed(let failure): host.fail(failure)
      case .stopped: host.stopped()
      }
    }
  }

  package func fail(_ failure: TunnelFailure) { perform(life.fail(named(failure))) }

  package func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) { fail(TunnelFailure(code: code, text: text, help: help)) }

  /// The same failure with the tunnel's name before its text.
  package func named(_ failure: TunnelFailure) -> TunnelFailure {
    TunnelFailure(code: failure.code, text: "\(host.tunnel): \(failure.text)", help: failure.help, retryAfter: failure.retryAfter)
  }

  /// Starts a program for the run. `start` gets the token of its process, and returns the reason why it cannot be started; the failure then
  /// has the code `missing`.
  package func launch(_ program: Program, missing: Word, start: (LifeToken) -> String?) {
    guard let process = life.launch(program), let text = start(process), ended(process) != nil else { return }
    fail(missing, text, .person)
  }

  /// A process has ended. Returns the last that was known of its program, if that leaves the run without one.
  package func ended(_ process: LifeToken) -> (program: Program, wasReady: Bool)? {
    switch life.ended(process) {
    case .unexpected(let program, let wasReady): return (program, wasReady)
    case .expected(let effects):
      perform(effects)
      return nil
    }
  }

  /// Has the agent apply what the program was told by its server.
  package func apply(_ settings: TunnelSettings, for process: LifeToken) {
    guard let request = life.request(process) else { return }
    host.apply(settings) { [weak self] result in
      guard let self, life.isRunning(process) else { return }
      switch result {
      case .success(let refused):
        for setting in refused { host.log(.notice, "settings", "refused: \(setting.setting) \(setting.value) (\(setting.code))") }
        perform(life.applied(request))
      case .failure(let refusal): fail(refusal.code, refusal.text, .time)
      }
    }
  }

  /// A device takes one program at a time: the program attaches to it by its name, which `then` gets.
  package func openDevice(_ attempt: LifeToken, then: @escaping (String) -> Void) {
    host.openDevice { [weak self] result in
      guard let self, life.isPreparing(attempt) else { return }
      switch result {
      case .failure(let refusal): fail(refusal.code, refusal.text, .time)
      case .success(let flow):
        (flow as? any ClosableFlow)?.close()
        then(flow.interface)
      }
    }
  }

  /// A credential as text, without the line feeds at its end.
  package func text(of credential: Word) -> String? {
    guard let bytes = host.credential(credential), var text = String(validating: bytes, as: UTF8.self) else { return nil }
    while text.last?.isNewline == true { text.removeLast() }
    return text
  }

  /// The reply to a message of an application: `status` is the only type that is known.
  package func answer(_ message: MessageContent, status: MessageReply) -> MessageReply {
    guard case .typed("status", _) = message else {
      return .failure(Refusal(code: "unknown-type", text: "this provider knows `status`"))
    }
    return status
  }
}
