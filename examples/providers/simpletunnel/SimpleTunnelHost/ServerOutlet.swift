package import FlowProtocol
package import FlowRelay
package import LinuxIO
package import NetworkTypes
internal import SimpleTunnel

/// Flows by a SimpleTunnel server: one TCP connection to it, which is opened with the first flow, and after a loss again with the next one.
package final class ServerOutlet: FlowOutlet {
  /// From a request to the server's answer.
  private static let patience = Duration.seconds(10)

  private enum Connection {
    case none
    case opening(any FlowAttempt)
    case open(any FlowStream)
  }

  /// A flow that the server has not opened.
  private struct Waiting {
    let target: SimpleTunnelMessage.Target
    let limit: DescriptorLoop.Source?
    let then: (Result<ServerFlow, FlowFailure>) -> Void
  }

  private let server: Endpoint
  private let direct: any FlowOutlet
  private let loop: DescriptorLoop
  private var connection = Connection.none
  private var machine = SimpleTunnelFlowClient()
  private var waiting: [UInt32: Waiting] = [:]
  private var flows: [UInt32: ServerFlow] = [:]

  /// - Parameter direct: the way to the server itself.
  package init(server: Endpoint, by direct: any FlowOutlet, on loop: DescriptorLoop) {
    self.server = server
    self.direct = direct
    self.loop = loop
  }

  package func connect(to endpoint: Endpoint, then: @escaping (Result<any FlowStream, FlowFailure>) -> Void) -> any FlowAttempt {
    open(.stream(host: endpoint.hostText, port: endpoint.port)) { then($0.map { $0 as any FlowStream }) }
  }

  package func datagrams(
    then: @escaping (Result<any FlowDatagrams, FlowFailure>) -> Void, deliver: @escaping (DatagramEvent) -> Void
  ) -> any FlowAttempt {
    open(.datagrams) { result in
      then(
        result.map { flow in
          flow.begin { event in
            switch event {
            case .datagram(let datagram): deliver(.came(datagram))
            case .stream(.ended), .stream(.broken): deliver(.ended)
            case .stream(.data), .stream(.drained): break
            }
          }
          return flow as any FlowDatagrams
        })
    }
  }

  private func open(_ target: SimpleTunnelMessage.Target, then: @escaping (Result<ServerFlow, FlowFailure>) -> Void) -> any FlowAttempt {
    var identifier = UInt32.random(in: 1...UInt32.max)
    while !machine.isFree(identifier) || waiting[identifier] != nil { identifier = UInt32.random(in: 1...UInt32.max) }
    let limit = try? loop.at(.now + Self.patience) { [weak self, identifier] in self?.settle(identifier, .failure(.timedOut)) }
    waiting[identifier] = Waiting(target: target, limit: limit, then: then)
    switch connection {
    case .none: connection = .opening(direct.connect(to: server) { [weak self] in self?.connected($0) })
    case .opening: break
    case .open: perform(machine.open(target, as: identifier))
    }
    return Attempt { [weak self, identifier] in
      guard let self, waiting.removeValue(forKey: identifier) != nil else { return }
      perform(machine.giveUp(identifier))
    }
  }

  private func connected(_ result: Result<any FlowStream, FlowFailure>) {
    switch result {
    case .failure(let failure):
      connection = .none
      for identifier in waiting.keys.sorted() { settle(identifier, .failure(failure)) }
    case .success(let stream):
      connection = .open(stream)
      machine = SimpleTunnelFlowClient()
      stream.begin { [weak self] in self?.take($0) }
      for (identifier, one) in waiting.sorted(by: { $0.key < $1.key }) { perform(machine.open(one.target, as: identifier)) }
    }
  }

  private func take(_ event: StreamEvent) {
    switch event {
    case .data(let bytes): perform(machine.receive(bytes))
    case .drained: perform(machine.drain())
    case .ended, .broken: breakOff()
    }
  }

  /// The connection is lost, and all flows with it.
  private func breakOff() {
    guard case .open(let stream) = connection else { return }
    connection = .none
    stream.close()
    let (lost, unanswered) = (flows, waiting)
    flows = [:]
    for flow in lost.values { flow.hand(.broken) }
    for identifier in unanswered.keys.sorted() { settle(identifier, .failure(.hostUnreachable)) }
  }

  /// A flow is open, or not.
  private func settle(_ identifier: UInt32, _ result: Result<ServerFlow, FlowFailure>) {
    guard let one = waiting.removeValue(forKey: identifier) else { return }
    if case .failure = result { perform(machine.giveUp(identifier)) }
    one.then(result)
  }

  private func perform(_ actions: [SimpleTunnelFlowClient.Action]) {
    for action in actions {
      switch action {
      case .send(let bytes): if case .open(let stream) = connection, !stream.send(bytes) { perform(machine.fill()) }
      case .opened(let identifier, let result):
        if let failure = FlowFailure(result) {
          settle(identifier, .failure(failure))
        } else {
          let flow = ServerFlow { [weak self] event in self?.take(event, of: identifier) }
          flows[identifier] = flow
          settle(identifier, .success(flow))
        }
      case .endpoint(let identifier, .close): flows.removeValue(forKey: identifier)?.end()
      case .endpoint(let identifier, let action): flows[identifier]?.perform(action)
      case .breakOff: breakOff()
      }
    }
  }

  private func take(_ event: SimpleTunnelFlow.Event, of identifier: UInt32) { perform(machine.take(event, of: identifier)) }
}

/// A flow that is given up when nobody keeps this.
private final class Attempt: FlowAttempt {
  private let giveUp: () -> Void

  init(_ giveUp: @escaping () -> Void) { self.giveUp = giveUp }

  deinit { giveUp() }
}

/// The application's end of a flow: as a stream, or as datagrams. Bytes that the application cannot take are kept by its own socket, so
/// pauses and resumes go both ways.
final class ServerFlow: FlowStream, FlowDatagrams {
  enum Event {
    case stream(StreamEvent)
    case datagram(RelayedDatagram)
  }

  private let tell: (SimpleTunnelFlow.Event) -> Void
  private var handler: ((Event) -> Void)?
  /// Events before somebody takes them.
  private var early: [Event] = []
  private var isPaused = false

  init(_ tell: @escaping (SimpleTunnelFlow.Event) -> Void) { self.tell = tell }

  func begin(_ handler: @escaping (Event) -> Void) {
    self.handler = handler
    let before = early
    early = []
    for event in before { handler(event) }
  }

  func begin(_ handler: @escaping (StreamEvent) -> Void) {
    begin { (event: Event) in if case .stream(let event) = event { handler(event) } }
  }

  // MARK: From the application

  func send(_ bytes: [UInt8]) -> Bool {
    tell(.data(bytes))
    return !isPaused
  }

  func send(_ data: [UInt8], to endpoint: Endpoint) { tell(.data(data, host: endpoint.hostText, port: endpoint.port)) }
  func finish() { tell(.ended) }
  func pause() { tell(.congested) }
  func resume() { tell(.drained) }

  func close() {
    handler = nil
    tell(.broken)
  }

  // MARK: From the server

  func perform(_ action: SimpleTunnelFlow.Action) {
    switch action {
    case .write(let bytes, let host?, let port?):
      if let endpoint = Endpoint(host: host, port: port) { hand(.datagram(RelayedDatagram(endpoint: endpoint, data: bytes))) }
    case .write(let bytes, _, _): hand(.stream(.data(bytes)))
    case .finish: hand(.stream(.ended))
    case .pause: isPaused = true
    case .resume:
      isPaused = false
      hand(.stream(.drained))
    case .tell, .close: break
    }
  }

  /// The flow is over at both ends, or the server has closed it.
  func end() { hand(.stream(.broken)) }

  func hand(_ event: StreamEvent) { hand(.stream(event)) }

  private func hand(_ event: Event) {
    guard let handler else { return early.append(event) }
    handler(event)
  }
}
