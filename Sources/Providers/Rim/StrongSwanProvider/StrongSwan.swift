internal import JSON
internal import Lives
internal import NetworkTypes
internal import ProgramProvider
internal import ProviderCertificates
package import ProviderLife
package import ProviderProtocol
package import RoamwardProvider
package import VICI

/// An event of charon.
package enum CharonEvent {
  /// vici can be used.
  case connected
  case packet(VICIPacket)
  case line(CharonLine)
  /// The last event, with its exit code.
  case ended(Int32)
}

/// charon, as a provider sees it.
package protocol CharonRunner: AnyObject {
  /// The file of the machine's own authorities, in PEM; `nil`: there is none.
  static var authorities: [UInt8]? { get }
  init(host: ProviderHost)
  /// Starts it for this link. Events come later. Returns the reason why it cannot be started.
  func start(on link: XFRMLink, events: @escaping (CharonEvent) -> Void) -> String?
  func send(_ packet: VICIPacket)
  /// It says goodbye to the server, and ends.
  func terminate()
  func kill()
}

/// IKEv2 as a provider: a charon of its own for each tunnel, told by vici; the kernel's IPsec carries the packets of an XFRM interface of
/// the agent. Addresses, routes and name servers are the agent's.
package final class StrongSwan<Runner: CharonRunner>: ProgramProvider {
  package let host: ProviderHost
  package var life = ProgramLife<StrongSwanRun>()
  private let runner: Runner
  /// The addresses of the server that did not answer since one did: the next start takes another one.
  private var tried = 0

  package init(host: ProviderHost) {
    self.host = host
    runner = Runner(host: host)
  }

  // MARK: The agent

  package func start(_ request: StartRequest) {
    let attempt = life.start()
    let options: IKEOptions
    do throws(TunnelFailure) {
      options = try IKEOptions(request.options, authorities: { Runner.authorities }) { host.credential($0) }
    } catch {
      return fail(error)
    }
    if case .certificate(let certificate, _, _) = options.login,
      let validity = CertificateValidity(of: certificate)?.told(as: "this machine's certificate")
    {
      host.validity(validity)
    }
    guard case .password(let username, nil) = options.login else { return resolve(options, password: nil, attempt) }
    host.ask(Question(kind: .password, prompt: "Password of \(username) for \(host.tunnel)")) { [weak self] answer in
      guard let self, life.isPreparing(attempt) else { return }
      if case .secret(let bytes) = answer {
        resolve(options, password: bytes, attempt)
      } else {
        fail("no-password", "it needs a password: name a file with it, `credentials: { password: FILE }`", .person)
      }
    }
  }

  private func resolve(_ options: IKEOptions, password: [UInt8]?, _ attempt: LifeToken) {
    if let address = IPAddress(options.server) { return openLink(options, [address], password, attempt) }
    guard let name = DomainName(options.server) else {
      return fail("invalid-server", "`server: \(options.server)` is neither a name nor an address", .person)
    }
    host.resolve(name) { [weak self] result in
      guard let self, life.isPreparing(attempt) else { return }
      switch result {
      case .success(let addresses): openLink(options, addresses, password, attempt)
      case .failure(let refusal): fail(refusal.code, refusal.text, .time)
      }
    }
  }

  private func openLink(_ options: IKEOptions, _ addresses: [IPAddress], _ password: [UInt8]?, _ attempt: LifeToken) {
    guard !addresses.isEmpty else { return fail("unresolved", "`\(options.server)` has no address", .time) }
    let address = addresses[tried % addresses.count]
    host.openXFRM { [weak self] result in
      guard let self, life.isPreparing(attempt) else { return }
      switch result {
      case .failure(let refusal): fail(refusal.code, refusal.text, .time)
      case .success(let link):
        let requests = options.requests(name: host.tunnel, address: "\(address)", link: link, password: password)
        launch(StrongSwanRun(tunnel: host.tunnel, options: options, requests: requests), missing: "charon-missing") { process in
          runner.start(on: link) { [weak self] in self?.take($0, from: process) }
        }
      }
    }
  }

  package func leave(_ reason: StopReason) { runner.terminate() }

  package func kill() { runner.kill() }

  /// charon tells the server, so that it frees the address.
  package func abandon() { runner.terminate() }

  package func fail(_ failure: TunnelFailure) {
    let effects = life.fail(named(failure))
    if !effects.isEmpty { tried = failure.help == .time ? tried + 1 : 0 }
    perform(effects)
  }

  package func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    let server = life.program?.child?.server.map { JSON.string("\($0)") } ?? .null
    let trouble = life.program?.trouble.map { JSON.string($0.text) } ?? .null
    let status: JSON = ["connected": .bool(life.isReady), "server": server, "trouble": trouble]
    reply(answer(message, status: .success(.typed("status", status))))
  }

  // MARK: The program

  private func take(_ event: CharonEvent, from process: LifeToken) {
    switch event {
    case .connected: perform(life.update(process) { $0.sendNext() } ?? [], of: process)
    case .packet(let packet): perform(life.update(process) { $0.take(packet) } ?? [], of: process)
    case .line(let line):
      let now = CertificateValidity.now
      // The last words of a charon that is not wanted any more are for the log alone.
      let effects = life.update(process) { $0.take(line, at: now) } ?? life.program?.words(of: line, at: now) ?? []
      perform(effects, of: process)
    case .ended(let code):
      // An end by itself says nothing of the server's address.
      if let (program, _) = ended(process) { perform(life.fail(named(program.failure(code: code)))) }
    }
  }

  private func perform(_ effects: [StrongSwanRun.Effect], of process: LifeToken) {
    for effect in effects {
      switch effect {
      case .log(let level, let origin, let text): host.log(level, origin, text)
      case .send(let packet): runner.send(packet)
      case .apply(let settings):
        tried = 0
        apply(settings, for: process)
      case .found: perform(life.found())
      case .doubt(let text): perform(life.doubt("peer-timeout", text))
      case .fail(let failure): fail(failure)
      }
    }
  }
}
