internal import FlowProtocol
internal import LinuxIO
internal import NetworkTypes

/// One client of a proxy, from its first byte to the end of its flow.
final class ProxyClient {
  private enum Phase {
    case talking
    case opening(any FlowAttempt)
    case streaming(StreamJoint, any FlowStream)
    /// Datagrams flow until the client closes its connection.
    case associated(ClientPort, any FlowDatagrams)
    /// The last answer was given: the client closes first, so that it has read everything.
    case leaving
    case over
  }

  private let stream: SocketStream
  private let remote: IPAddress
  private let own: IPAddress
  private let outlet: any FlowOutlet
  private let loop: DescriptorLoop
  private let end: () -> Void
  private var conversation = ProxyConversation()
  private var phase = Phase.talking
  /// Until a flow is open, or the client has left; `nil`: it may last.
  private(set) var deadline: Moment?

  init(
    _ stream: SocketStream, from remote: IPAddress, at own: IPAddress, outlet: any FlowOutlet, on loop: DescriptorLoop,
    until deadline: Moment, end: @escaping () -> Void
  ) {
    self.stream = stream
    self.remote = remote
    self.own = own
    self.outlet = outlet
    self.loop = loop
    self.deadline = deadline
    self.end = end
  }

  func begin() { stream.begin { [weak self] in self?.take($0) } }

  /// Its time is over.
  func expire() {
    switch phase {
    case .opening: refuse(.timedOut)
    case .talking, .leaving: close()
    case .streaming, .associated, .over: break
    }
  }

  private func take(_ event: StreamEvent) {
    switch (phase, event) {
    case (.talking, .data(let bytes)): talk(bytes)
    case (.streaming, _): join(.client, event)
    case (.leaving, .data), (.associated, .data), (_, .drained), (.over, _): break
    // It has ended.
    case (.talking, _), (.opening, _), (.associated, _), (.leaving, _): close()
    }
  }

  // MARK: The conversation

  private func talk(_ bytes: [UInt8]) {
    for step in conversation.receive(bytes) {
      switch step {
      case .answer(let answer): _ = stream.send(answer)
      case .refusal(let answer, _): leave(answer)
      case .request(let request):
        stream.pause()
        open(request)
      }
      if case .over = phase { return }
    }
  }

  private func open(_ request: FlowRequest) {
    switch request {
    case .stream(let endpoint):
      phase = .opening(
        outlet.connect(to: endpoint) { [weak self] result in
          switch result {
          case .success(let target): self?.join(target)
          case .failure(let failure): self?.refuse(failure)
          }
        })
    case .datagrams(let port): associate(port)
    }
  }

  private func refuse(_ failure: FlowFailure) {
    guard case .opening = phase else { return }
    leave(conversation.refuse(failure))
  }

  private func leave(_ answer: [UInt8]) {
    phase = .leaving
    deadline = .now + .seconds(5)
    _ = stream.send(answer)
    stream.finish()
    stream.resume()
  }

  private func close() {
    let before = phase
    if case .over = before { return }
    phase = .over
    stream.close()
    switch before {
    case .streaming(_, let target): target.close()
    case .associated(let port, let datagrams):
      port.close()
      datagrams.close()
    case .talking, .opening, .leaving, .over: break
    }
    end()
  }

  // MARK: Streams

  private func join(_ target: any FlowStream) {
    guard case .opening = phase else { return target.close() }
    deadline = nil
    phase = .streaming(StreamJoint(), target)
    let (answer, ahead) = conversation.accept()
    // The answer is short, and the client has read everything before it.
    if !stream.send(answer) { perform(.congested(.client)) }
    target.begin { [weak self] in self?.join(.target, $0) }
    if !ahead.isEmpty { perform(.data(.client, ahead)) }
    guard case .streaming(let joint, _) = phase, !joint.isPaused(.client) else { return }
    stream.resume()
  }

  private func join(_ side: StreamJoint.Side, _ event: StreamEvent) {
    switch event {
    case .data(let bytes): perform(.data(side, bytes))
    case .drained: perform(.drained(side))
    case .ended: perform(.ended(side))
    case .broken: perform(.broken(side))
    }
  }

  private func perform(_ event: StreamJoint.Event) {
    guard case .streaming(var joint, let target) = phase else { return }
    let actions = joint.take(event)
    phase = .streaming(joint, target)
    for action in actions {
      guard case .streaming = phase else { return }
      let end = { [stream] (side: StreamJoint.Side) -> any FlowStream in side == .client ? stream : target }
      switch action {
      case .send(let side, let bytes): if !end(side).send(bytes) { perform(.congested(side)) }
      case .pause(let side): end(side).pause()
      case .resume(let side): end(side).resume()
      case .finish(let side): end(side).finish()
      case .close: close()
      }
    }
  }

  // MARK: Datagrams

  private func associate(_ port: UInt16?) {
    guard let socket = try? ClientPort(at: own, of: DatagramClient(at: remote, port: port), on: loop) else {
      return leave(conversation.refuse(.crowded))
    }
    let attempt = outlet.datagrams(
      then: { [weak self] result in
        switch result {
        case .success(let datagrams): self?.associated(socket, datagrams)
        case .failure(let failure):
          socket.close()
          self?.refuse(failure)
        }
      },
      deliver: { [weak self, weak socket] event in
        switch event {
        case .came(let datagram): socket?.deliver(datagram)
        case .ended: self?.close()
        }
      })
    phase = .opening(attempt)
  }

  private func associated(_ socket: ClientPort, _ datagrams: any FlowDatagrams) {
    guard case .opening = phase else {
      socket.close()
      return datagrams.close()
    }
    deadline = nil
    phase = .associated(socket, datagrams)
    socket.begin { [weak datagrams] in datagrams?.send($0.data, to: $0.endpoint) }
    _ = stream.send(conversation.accept(at: (own, socket.number)).answer)
    stream.resume()
  }
}

/// The socket by which a client's datagrams come and go.
private final class ClientPort {
  /// RSV, FRAG, and the longest address.
  private static let header = 3 + 1 + 1 + 255 + 2

  let number: UInt16
  private let port: DatagramPort
  private let address: IPAddress
  private var client: DatagramClient
  private let loop: DescriptorLoop
  private var source: DescriptorLoop.Source?

  init(at address: IPAddress, of client: DatagramClient, on loop: DescriptorLoop) throws(SystemError) {
    port = try DatagramPort(address, address.family, port: 0)
    guard let number = port.localPort else { throw .last("ask for a UDP port") }
    self.number = number
    self.address = address
    self.client = client
    self.loop = loop
  }

  func begin(_ take: @escaping (RelayedDatagram) -> Void) {
    source = try? loop.whenReadable(port.file.number) { [weak self] in self?.receive(take) }
  }

  func close() { source = nil }

  /// A client whose queue is full loses datagrams, as on any way.
  func deliver(_ datagram: RelayedDatagram) {
    guard source != nil, let destination = client.port else { return }
    port.send(datagram.bytes, to: client.address, port: destination)
  }

  private func receive(_ take: (RelayedDatagram) -> Void) {
    for _ in 0..<DirectDatagrams.batch {
      guard source != nil, let datagram = port.receive(atMost: Self.header + DirectDatagrams.longest) else { return }
      if let relayed = client.receive(datagram.bytes, from: datagram.from, port: datagram.port) { take(relayed) }
    }
  }
}
