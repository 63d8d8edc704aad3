internal import JSON
internal import NetworkTypes
internal import ProviderCertificates
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
package final class StrongSwan<Runner: CharonRunner>: TunnelProvider {
  private let host: ProviderHost
  private let runner: Runner
  private var options: IKEOptions?
  private var isProcessRunning = false
  private var isLeaving = false
  private var isReady = false
  /// Requests that were not sent yet: charon answers one at a time.
  private var requests: [VICIPacket] = []
  private var awaited: VICIPacket?
  private var child: EstablishedChild?
  private var nameServers: [IPAddress] = []
  /// The first failure since the start.
  private var trouble: TunnelFailure?
  /// Starts without an answer: the next takes another address of the server.
  private var attempt = 0

  package init(host: ProviderHost) {
    self.host = host
    runner = Runner(host: host)
  }

  // MARK: The agent

  package func start(_ request: StartRequest) {
    (isLeaving, isReady, requests, awaited, child, nameServers, trouble) = (false, false, [], nil, nil, [], nil)
    let options: IKEOptions
    do throws(TunnelFailure) {
      options = try IKEOptions(request.options, authorities: { Runner.authorities }) { host.credential($0) }
    } catch {
      return fail(error)
    }
    self.options = options
    if case .certificate(let certificate, _, _) = options.login,
      let validity = CertificateValidity(of: certificate)?.told(as: "this machine's certificate")
    {
      host.validity(validity)
    }
    guard case .password(let username, nil) = options.login else { return resolve(options, password: nil) }
    host.ask(Question(kind: .password, prompt: "Password of \(username) for \(host.tunnel)")) { [weak self] answer in
      if case .secret(let bytes) = answer {
        self?.resolve(options, password: bytes)
      } else {
        self?.fail("no-password", "it needs a password: name a file with it, `credentials: { password: FILE }`", .person)
      }
    }
  }

  private func resolve(_ options: IKEOptions, password: [UInt8]?) {
    if let address = IPAddress(options.server) { return openLink(options, [address], password) }
    guard let name = DomainName(options.server) else {
      return fail("invalid-server", "`server: \(options.server)` is neither a name nor an address", .person)
    }
    host.resolve(name) { [weak self] result in
      switch result {
      case .success(let addresses): self?.openLink(options, addresses, password)
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
      }
    }
  }

  private func openLink(_ options: IKEOptions, _ addresses: [IPAddress], _ password: [UInt8]?) {
    guard !addresses.isEmpty else { return fail("unresolved", "`\(options.server)` has no address", .time) }
    let address = addresses[attempt % addresses.count]
    host.openXFRM { [weak self] result in
      switch result {
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
      case .success(let link): self?.startProcess(options, address, link, password)
      }
    }
  }

  private func startProcess(_ options: IKEOptions, _ address: IPAddress, _ link: XFRMLink, _ password: [UInt8]?) {
    let tunnel = host.tunnel
    requests = ["ike-updown", "child-updown"].map { .register($0) }
    requests += options.requests(name: tunnel, address: "\(address)", link: link, password: password)
    requests.append(.request("initiate", VICIMessage([.text("child", tunnel), .text("ike", tunnel), .text("timeout", "0")])))
    let failure = runner.start(on: link) { [weak self] in self?.take($0) }
    if let failure { return fail("charon-missing", failure, .person) }
    isProcessRunning = true
  }

  package func stop(_ reason: StopReason) {
    isLeaving = true
    guard isProcessRunning else { return host.stopped() }
    runner.terminate()
    host.after(.seconds(5)) { [weak self] in self?.runner.kill() }
  }

  package func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    guard case .typed("status", _) = message else {
      return reply(.failure(Refusal(code: "unknown-type", text: "this provider knows `status`")))
    }
    let server = child?.server.map { JSON.string("\($0)") } ?? .null
    reply(
      .success(
        .typed("status", ["connected": .bool(isReady), "server": server, "trouble": trouble.map { .string($0.text) } ?? .null])))
  }

  private func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) { fail(TunnelFailure(code: code, text: text, help: help)) }

  private func fail(_ failure: TunnelFailure) {
    attempt = failure.help == .time ? attempt + 1 : 0
    var failure = failure
    failure.text = "\(host.tunnel): \(failure.text)"
    // charon tells the server, so that it frees the address.
    runner.terminate()
    host.fail(failure)
  }

  // MARK: What charon says

  private func take(_ event: CharonEvent) {
    switch event {
    case .connected: sendNext()
    case .packet(let packet): take(packet)
    case .line(let line): take(line)
    case .ended(let code): ended(code)
    }
  }

  private func take(_ line: CharonLine) {
    switch line {
    case .trouble(let failure): note(failure)
    case .refused(let text): if let options { note(options.refusal(line: text, at: CertificateValidity.now)) }
    case .waiting(let text):
      if isReady { host.reasserting("peer-timeout", "the server does not answer (\(text))") }
      isReady = false
      host.log(.debug, "charon", text)
    case .answered: reportReady()
    case .nameServer(let text): if let address = IPAddress(text), nameServers.count < 16 { nameServers.append(address) }
    case .other(let text): host.log(.debug, "charon", text)
    }
  }

  /// The first one is the cause.
  private func note(_ failure: TunnelFailure) {
    if trouble == nil { trouble = failure }
    host.log(.warning, "charon", failure.text)
  }

  private func sendNext() {
    guard !requests.isEmpty else { return awaited = nil }
    let next = requests.removeFirst()
    awaited = next
    runner.send(next)
  }

  private func take(_ packet: VICIPacket) {
    switch packet {
    case .confirmed: sendNext()
    case .response(let response): answered(response)
    case .unknownCommand, .unknownEvent: fail("charon-unknown", "charon has no vici as of strongSwan 5.9; update it", .person)
    case .event("child-updown", let message):
      if let child = EstablishedChild(message, name: host.tunnel) { changed(child) }
    case .event("ike-updown", let message):
      if message.text("up") != "yes", message.section(host.tunnel) != nil { lost() }
    default: break
    }
  }

  private func answered(_ response: VICIMessage) {
    guard case .request(let command, _) = awaited else { return }
    if response.text("success") != "no" { return sendNext() }
    let reason = String((response.text("errmsg") ?? "without a reason").prefix(300))
    if command == "initiate" {
      return fail(trouble ?? TunnelFailure(code: "ike-failed", text: "charon cannot connect: \(reason)", help: .time))
    }
    fail("invalid-options", "charon refuses a part of the options or credentials (\(command)): \(reason)", .person)
  }

  private func changed(_ new: EstablishedChild) {
    guard new.isUp else { return lost() }
    child = new
    (trouble, attempt) = (nil, 0)
    for text in new.unreadable.prefix(20) { host.log(.notice, "settings", "the server's selector \(text) is no prefix: it gets no route") }
    var settings = TunnelSettings(remoteAddress: new.server, addresses: new.addresses, includedRoutes: new.routes)
    // Outer header, UDP, ESP with the largest of its parts (CBC and SHA-512).
    settings.overhead = new.server?.family == .v6 ? 108 : 88
    if !nameServers.isEmpty { settings.dns = DNSSettings(servers: nameServers) }
    host.apply(settings) { [weak self] result in
      switch result {
      case .success(let refused):
        for setting in refused { self?.host.log(.notice, "settings", "refused: \(setting.setting) \(setting.value) (\(setting.code))") }
        self?.reportReady()
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
      }
    }
  }

  private func reportReady() {
    guard host.settings != nil, child != nil, !isReady, !isLeaving else { return }
    isReady = true
    host.ready()
  }

  private func lost() {
    guard child != nil, !isLeaving else { return }
    child = nil
    fail(trouble ?? TunnelFailure(code: "connection-lost", text: "the server has ended the connection", help: .time))
  }

  private func ended(_ code: Int32) {
    isProcessRunning = false
    // `stopped` does nothing unless the agent waits for it, `fail` nothing unless a run is under way.
    host.stopped()
    let failure = trouble ?? TunnelFailure(code: "charon-ended", text: "charon ended with status \(code); see its log", help: .time)
    host.fail(TunnelFailure(code: failure.code, text: "\(host.tunnel): \(failure.text)", help: failure.help))
  }
}
