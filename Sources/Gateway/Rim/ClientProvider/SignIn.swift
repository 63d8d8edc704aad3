internal import Lives
internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardProvider

/// A login at the gateway: TLS over a socket of the agent, which a kill switch lets pass, and questions to the person. `SignInMachine`
/// decides, and this carries out its effects.
final class SignIn {
  private let host: ProviderHost
  private let pin: String
  private let done: (Result<LoginGrant, TunnelFailure>) -> Void
  private var machine: SignInMachine
  private var effects = EffectQueue<SignInMachine.Effect>()
  private var connection: Connection?
  private var limit: ProviderTimer?
  /// The number of the open question; 0: there is none.
  private var question: UInt32 = 0

  private final class Connection {
    let socket: any OutsideSocket
    let tls: TLSClient
    var frames = LoginFrameStream()

    init(_ socket: any OutsideSocket, _ tls: TLSClient) { (self.socket, self.tls) = (socket, tls) }

    func flush() {
      let bytes = tls.takeOutput()
      if !bytes.isEmpty { socket.send([bytes]) }
    }
  }

  /// `done` is called once.
  init(
    _ host: ProviderHost, _ options: ClientOptions, publicKey: [UInt8], token: [UInt8]?, password: [UInt8]?,
    done: @escaping (Result<LoginGrant, TunnelFailure>) -> Void
  ) {
    self.host = host
    pin = options.pin
    self.done = done
    machine = SignInMachine(host.tunnel, options, publicKey: publicKey, token: token, password: password)
  }

  func begin() { take(.begin) }

  // MARK: Effects

  private func take(_ event: SignInMachine.Event) {
    guard effects.add(machine.take(event)) else { return }
    while let effect = effects.next() { perform(effect) }
  }

  private func perform(_ effect: SignInMachine.Effect) {
    switch effect {
    case .connect(let attempt, let server): connect(attempt, to: server)
    case .send(let message):
      connection?.tls.send(message.frame.bytes)
      connection?.flush()
    case .limit(let attempt, let duration):
      limit?.cancel()
      limit = host.after(duration) { [weak self] in self?.take(.timeout(attempt)) }
    case .unlimited: limit?.cancel()
    case .ask(let attempt, let question):
      self.question = host.ask(question) { [weak self] answer in
        self?.question = 0
        self?.take(.answered(attempt, .init(answer)))
      }
    case .withdraw:
      if question != 0 { host.withdraw(question) }
      question = 0
    case .close:
      limit?.cancel()
      connection?.socket.close()
      connection = nil
    case .log(let text): host.log(.notice, "login", text)
    case .done(let result): done(result)
    }
  }

  // MARK: The connection

  private func connect(_ attempt: LifeToken, to server: Endpoint) {
    host.connect(.tcp, to: server) { [weak self] result in
      switch result {
      case .failure(let refusal): self?.take(.unreachable(attempt, code: refusal.code, text: refusal.text))
      case .success(let socket):
        guard let self, machine.phase == .connecting(attempt) else { return socket.close() }
        talk(by: socket, attempt)
      }
    }
  }

  private func talk(by socket: any OutsideSocket, _ attempt: LifeToken) {
    guard let tls = TLSClient(pin: pin) else { return take(.noTLS) }
    let connection = Connection(socket, tls)
    self.connection = connection
    socket.receive { [weak self, weak connection] input in
      guard let self, let connection, self.connection === connection else { return }
      switch input {
      case .data(let pieces): for piece in pieces { take(piece, of: connection) }
      case .ended(let reason): take(.closed(reason))
      }
    }
    connection.flush()
    take(.connected(attempt))
  }

  private func take(_ bytes: [UInt8], of connection: Connection) {
    guard self.connection === connection else { return }
    do throws(TLSClient.Failure) {
      let plain = try connection.tls.receive(bytes)
      if connection.tls.isProven { take(.proven) }
      connection.flush()
      try take(plain: plain, of: connection)
    } catch {
      switch error {
      case .ended: take(.broken(otherKey: nil))
      case .otherKey(let found): take(.broken(otherKey: found))
      }
    }
  }

  private func take(plain: [UInt8], of connection: Connection) throws(TLSClient.Failure) {
    do throws(LoginFrameError) {
      for frame in try connection.frames.receive(plain) {
        // Frames after the end of the login have no meaning.
        guard self.connection === connection else { return }
        take(.received(try GatewayMessage(frame)))
      }
    } catch {
      throw .ended
    }
  }
}

extension SignInMachine.Answer {
  init(_ answer: ProviderHost.Answer) {
    switch answer {
    case .secret(let bytes): self = .secret(bytes)
    case .agreed: self = .agreed
    case .declined: self = .declined
    case .unanswered: self = .unanswered
    }
  }
}
