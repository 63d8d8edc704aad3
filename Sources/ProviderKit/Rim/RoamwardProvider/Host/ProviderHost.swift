public import JSON
public import NetworkTypes
public import ProviderProtocol

/// The agent, as a provider sees it. All calls are for the thread of the provider.
///
/// A call that the protocol does not allow, such as `ready()` before settings are applied, fails the run with the code `provider-error`
/// and its reason. After the end of a run, calls for it do nothing: late callbacks are harmless.
public final class ProviderHost {
  /// The tunnel's name; empty before the agent has said it.
  public internal(set) var tunnel = ""
  /// Settings as they were applied last in this run.
  public private(set) var settings: TunnelSettings?

  let backend: any HostBackend
  var endpoint = ProviderEndpoint()
  weak var provider: (any TunnelProvider)?
  var credentials: [Word: AnyObject] = [:]
  var pending: [UInt32: Completion] = [:]
  var flows: [any ClosableFlow] = []
  var sockets: [any OutsideSocket] = []
  var timers: [(at: Moment, timer: ProviderTimer)] = []
  /// The number of runs that have ended.
  var run = 0
  /// The last line of the log.
  private var lastLine: (line: LogLine, at: Moment)?

  /// The callback for the answer to a request.
  enum Completion {
    case settings(TunnelSettings, (Result<[RefusedSetting], Refusal>) -> Void)
    case device((Result<any PacketFlow, Refusal>) -> Void)
    case xfrm((Result<XFRMLink, Refusal>) -> Void)
    case socket(Transport, Endpoint, (Result<any OutsideSocket, Refusal>) -> Void)
    case addresses((Result<[IPAddress], Refusal>) -> Void)
    case answer((Answer) -> Void)
  }

  /// The outcome of a question.
  public enum Answer: Hashable, Sendable {
    /// The person gave a secret, or the text of a question of the kind `text`. Forget a secret soon.
    case secret([UInt8])
    /// The person agreed, or opened the page.
    case agreed
    /// The person said no.
    case declined
    /// No person answered, or none can be asked.
    case unanswered
  }

  package init(backend: any HostBackend) { self.backend = backend }

  /// The time, by a clock that goes on while the machine sleeps.
  public var now: Moment { backend.now }

  /// A credential of this start, read from its descriptor; a second call for it returns `nil`. `nil` also if the policy gives none.
  public func credential(_ name: Word) -> [UInt8]? { credentials.removeValue(forKey: name).flatMap { backend.secret($0) } }

  // MARK: The tunnel

  /// Asks for the tunnel's settings. They replace those before. `completion` gets what the policy did not allow, or the reason why nothing
  /// was applied.
  public func apply(_ settings: TunnelSettings, completion: @escaping (Result<[RefusedSetting], Refusal>) -> Void) {
    request({ .settings(id: $0, settings) }, .settings(settings, completion))
  }

  /// Asks for the tunnel's device.
  public func openDevice(completion: @escaping (Result<any PacketFlow, Refusal>) -> Void) {
    request({ .openDevice(id: $0) }, .device(completion))
  }

  /// Asks for the tunnel's XFRM interface, for a provider that configures the kernel's IPsec.
  public func openXFRM(completion: @escaping (Result<XFRMLink, Refusal>) -> Void) {
    request({ .openXFRM(id: $0) }, .xfrm(completion))
  }

  /// The tunnel carries packets: after the settings are applied, and again at the end of `reasserting`.
  public func ready() { send(.ready) }

  /// The tunnel carries no packets for now, and the provider works on it.
  public func reasserting(_ code: Word, _ text: String) { send(.reasserting(code: code, text: Self.shortened(text))) }

  /// The tunnel has failed. The run is over.
  public func fail(_ failure: TunnelFailure) {
    guard isRunning else { return }
    var failure = failure
    failure.text = Self.shortened(failure.text)
    send(.failed(failure))
    endRun()
  }

  /// The tunnel is stopped, as asked. The run is over.
  public func stopped() {
    guard endpoint.state == .stopping else { return }
    send(.stopped)
    endRun()
  }

  // MARK: The outside

  /// Opens a socket to a server outside of the tunnel. A name is resolved there first, and its addresses are tried in their order.
  public func connect(
    _ transport: Transport, to server: Endpoint, completion: @escaping (Result<any OutsideSocket, Refusal>) -> Void
  ) {
    switch server.host {
    case .address(let address): connect(transport, to: [address], port: server.port, completion)
    case .name(let name):
      resolve(name) { [weak self] result in
        switch result {
        case .success(let addresses): self?.connect(transport, to: addresses[...], port: server.port, completion)
        case .failure(let refusal): completion(.failure(refusal))
        }
      }
    }
  }

  private func connect(
    _ transport: Transport, to addresses: ArraySlice<IPAddress>, port: UInt16,
    _ completion: @escaping (Result<any OutsideSocket, Refusal>) -> Void
  ) {
    guard let first = addresses.first else {
      return completion(.failure(Refusal(code: "no-address", text: "the server's name has no address")))
    }
    let remote = Endpoint(host: .address(first), port: port)
    let next = addresses.dropFirst()
    request(
      { .openSocket(id: $0, transport, remote) },
      .socket(transport, remote) { [weak self] result in
        guard case .failure = result, !next.isEmpty, let self, isRunning else { return completion(result) }
        connect(transport, to: next, port: port, completion)
      })
  }

  /// The addresses of a name, outside of the tunnel.
  public func resolve(_ name: DomainName, completion: @escaping (Result<[IPAddress], Refusal>) -> Void) {
    request({ .resolve(id: $0, name) }, .addresses(completion))
  }

  // MARK: People and programs

  /// Asks a person. Returns the question's number for `withdraw`.
  @discardableResult
  public func ask(_ question: Question, completion: @escaping (Answer) -> Void) -> UInt32 {
    request({ .ask(id: $0, question) }, .answer(completion))
  }

  /// Takes a question back. Its completion is not called.
  public func withdraw(_ question: UInt32) {
    guard pending.removeValue(forKey: question) != nil else { return }
    send(.withdraw(id: question))
  }

  /// Tells the provider's applications of an event.
  public func event(_ name: Word, _ data: JSON = .null) { send(.event(name: name, data: data)) }

  /// Has the agent keep these bytes, 16 KiB at most, in place of those before: the next starts of this tunnel bring them as the credential
  /// `kept`, also after a restart of the machine. An empty list forgets them. They may be secret.
  public func keep(_ bytes: [UInt8]) { send(.keep(bytes)) }

  /// Tells people how the tunnel's packets go now, in 512 bytes at most: `roamward status` shows it. Empty: nothing. It ends with the run.
  public func transport(_ text: String) { send(.transport(text: text)) }

  /// Tells from when to when something is valid that the server wants, such as a certificate: people are told before it ends. It belongs to
  /// the run; of one name the last counts.
  public func validity(_ validity: Validity) { send(.validity(validity)) }

  /// Writes a line of the log, shortened to 4,096 bytes. It must contain no secret. The same line again is written once a second at most: a
  /// program whose device is gone says so a hundred thousand times a second.
  public func log(_ level: LogLine.Level, _ origin: Word, _ text: String) {
    let line = LogLine(level: level, origin: origin, text: Self.shortened(text))
    if let last = lastLine, last.line == line, now < last.at + .seconds(1) { return }
    lastLine = (line, now)
    send(.log(line))
  }

  /// A text within the protocol's bound.
  private static func shortened(_ text: String) -> String {
    var text = text
    while text.utf8.count > ProtocolLimits.text { text = String(text.dropLast(max(1, (text.utf8.count - ProtocolLimits.text) / 4))) }
    return text
  }

  // MARK: Time

  /// Calls the handler once after a duration, unless the timer is cancelled or the run ends.
  @discardableResult
  public func after(_ duration: Duration, _ handler: @escaping () -> Void) -> ProviderTimer {
    let timer = ProviderTimer(handler)
    timers.append((now + duration, timer))
    rearm()
    return timer
  }

  /// Calls the handler after each interval, until the timer is cancelled or the run ends. The interval is positive.
  @discardableResult
  public func every(_ interval: Duration, _ handler: @escaping () -> Void) -> ProviderTimer {
    let timer = ProviderTimer(interval: max(interval, .milliseconds(1)), handler)
    timers.append((now + timer.interval, timer))
    rearm()
    return timer
  }

  // MARK: Inside

  var isRunning: Bool { [.starting, .connected, .reasserting].contains(endpoint.state) }

  func recordApplied(_ settings: TunnelSettings) { self.settings = settings }

  @discardableResult
  private func request(_ message: (UInt32) -> ProviderMessage, _ completion: Completion) -> UInt32 {
    // A callback of a run that is over.
    guard isRunning else {
      answer(completion, by: Self.over)
      return 0
    }
    let id = endpoint.nextRequest
    pending[id] = completion
    send(message(id))
    return id
  }

  static let over = Refusal(code: "not-running", text: "the run of the tunnel is over")

  func send(_ message: ProviderMessage) {
    do throws(ProtocolViolation) {
      backend.send(try endpoint.send(message))
    } catch {
      guard isRunning else { return }
      let text = "the provider of \(tunnel) must not do this: \(error); this is a defect of the provider"
      if let bytes = try? endpoint.send(.failed(TunnelFailure(code: "provider-error", text: text, help: .nobody))) {
        backend.send(bytes)
        endRun()
      }
    }
  }

  /// Closes everything of the run.
  func endRun() {
    run += 1
    settings = nil
    for socket in sockets { socket.close() }
    for flow in flows { flow.close() }
    (sockets, flows, timers, credentials) = ([], [], [], [:])
    rearm()
    refusePending()
  }

  func refusePending() {
    let open = pending.sorted { $0.key < $1.key }
    pending = [:]
    for (_, completion) in open { answer(completion, by: Self.over) }
  }

  func rearm() {
    timers.removeAll { $0.timer.isCancelled }
    backend.wake(at: timers.map(\.at).min())
  }
}

/// A timer of `ProviderHost.after` or `every`. It needs not be retained.
public final class ProviderTimer {
  /// Zero: it fires once.
  let interval: Duration
  private var handler: (() -> Void)?

  init(interval: Duration = .zero, _ handler: @escaping () -> Void) {
    self.interval = interval
    self.handler = handler
  }

  /// Whether it was cancelled, or has fired.
  public var isCancelled: Bool { handler == nil }

  public func cancel() { handler = nil }

  func fire() {
    let handler = handler
    if interval == .zero { self.handler = nil }
    handler?()
  }
}
