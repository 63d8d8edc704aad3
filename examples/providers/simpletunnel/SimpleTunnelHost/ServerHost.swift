internal import FlowProtocol
package import FlowRelay
internal import Glibc
package import LinuxIO
internal import NetworkTypes
internal import SimpleTunnel

/// A SimpleTunnel server on this machine: clients by TCP, their packets by a TUN device, their flows by the sockets of an outlet.
package final class ServerHost {
  /// Clients at a time; further ones wait in the kernel's queue.
  private static let mostClients = 256
  private static let (longestPacket, batch) = (8192, 32)

  /// The destination of a flow.
  private enum Destination {
    case opening(any FlowAttempt)
    case stream(any FlowStream)
    case datagrams(any FlowDatagrams)
  }

  private let outlet: any FlowOutlet
  private let loop: DescriptorLoop
  private let listeners: [FileDescriptor]
  private let device: FileDescriptor?
  private var machine: SimpleTunnelServer
  private var streams: [SimpleTunnelServer.Client: SocketStream] = [:]
  private var destinations: [SimpleTunnelServer.Flow: Destination] = [:]
  /// Empty while there is no room for a client.
  private var accepting: [DescriptorLoop.Source] = []
  private var reading: DescriptorLoop.Source?

  /// `device`: a TUN device; `nil`: there are no tunnels of IP packets.
  package init(
    _ configuration: ServerConfiguration, at listeners: [FileDescriptor], device: FileDescriptor?, outlet: any FlowOutlet,
    on loop: DescriptorLoop
  ) {
    self.outlet = outlet
    self.loop = loop
    self.listeners = listeners
    self.device = device
    machine = SimpleTunnelServer(configuration: configuration.pushed, pool: device == nil ? nil : configuration.pool)
  }

  /// Serves while it is kept.
  package func begin() throws(SystemError) {
    try listen()
    guard let device else { return }
    reading = try loop.whenReadable(device.number) { [weak self] in self?.deliver(device) }
  }

  private func listen() throws(SystemError) {
    for listener in listeners { accepting.append(try loop.whenReadable(listener.number) { [weak self] in self?.accept(listener) }) }
  }

  private func accept(_ listener: FileDescriptor) {
    while let file = (try? listener.accept()) ?? nil {
      let client = machine.connect()
      let stream = SocketStream(file, on: loop)
      streams[client] = stream
      stream.begin { [weak self] event in self?.take(event, of: client) }
      guard streams.count < Self.mostClients else { return accepting = [] }
    }
  }

  private func deliver(_ device: FileDescriptor) {
    var packets: [[UInt8]] = []
    while packets.count < Self.batch, let packet = (try? device.read(atMost: Self.longestPacket)) ?? nil { packets.append(packet) }
    perform(machine.deliver(packets))
  }

  private func take(_ event: StreamEvent, of client: SimpleTunnelServer.Client) {
    switch event {
    case .data(let bytes): perform(machine.receive(bytes, from: client))
    case .drained:
      streams[client]?.resume()
      perform(machine.drain(client))
    case .ended, .broken:
      perform(machine.disconnect(client))
      close(client)
    }
  }

  private func close(_ client: SimpleTunnelServer.Client) {
    streams.removeValue(forKey: client)?.close()
    if accepting.isEmpty { try? listen() }
  }

  private func perform(_ actions: [SimpleTunnelServer.Action]) {
    for action in actions {
      switch action {
      case .send(let client, let bytes):
        // A client that reads nothing is not read either.
        guard let stream = streams[client], !stream.send(bytes) else { continue }
        stream.pause()
        perform(machine.fill(client))
      case .forward(let packets): for packet in packets { _ = try? device?.write(packet[...]) }
      case .open(let flow, let target): open(flow, target)
      case .endpoint(let flow, let action): perform(action, of: flow)
      case .giveUp(let flow): destinations[flow] = nil
      case .close(let client): close(client)
      }
    }
  }

  // MARK: Flows

  private func open(_ flow: SimpleTunnelServer.Flow, _ target: SimpleTunnelMessage.Target) {
    switch target {
    case .packets: break
    case .datagrams:
      let attempt = outlet.datagrams(
        then: { [weak self] in self?.opened(flow, $0.map { Destination.datagrams($0) }) },
        deliver: { [weak self] event in
          switch event {
          case .came(let datagram):
            self?.take(.data(datagram.data, host: datagram.endpoint.hostText, port: datagram.endpoint.port), of: flow)
          case .ended: self?.take(.broken, of: flow)
          }
        })
      destinations[flow] = .opening(attempt)
    case .stream(let host, let port):
      guard let endpoint = Endpoint(host: host, port: port) else { return perform(machine.opened(flow, .noSuchHost)) }
      destinations[flow] = .opening(outlet.connect(to: endpoint) { [weak self] in self?.opened(flow, $0.map { Destination.stream($0) }) })
    }
  }

  private func opened(_ flow: SimpleTunnelServer.Flow, _ result: Result<Destination, FlowFailure>) {
    guard case .opening? = destinations[flow] else { return }
    switch result {
    case .failure(let failure):
      destinations[flow] = nil
      perform(machine.opened(flow, failure.openResult))
    case .success(let destination):
      destinations[flow] = destination
      perform(machine.opened(flow, .success))
      if case .stream(let stream) = destination { stream.begin { [weak self] in self?.take($0.flowEvent, of: flow) } }
    }
  }

  private func take(_ event: SimpleTunnelFlow.Event, of flow: SimpleTunnelServer.Flow) { perform(machine.take(event, of: flow)) }

  private func perform(_ action: SimpleTunnelFlow.Action, of flow: SimpleTunnelServer.Flow) {
    switch (action, destinations[flow]) {
    case (.write(let bytes, _, _), .stream(let stream)?): if !stream.send(bytes) { take(.congested, of: flow) }
    case (.write(let bytes, let host?, let port?), .datagrams(let datagrams)?):
      if let endpoint = Endpoint(host: host, port: port) { datagrams.send(bytes, to: endpoint) }
    case (.finish, .stream(let stream)?): stream.finish()
    case (.pause, .stream(let stream)?): stream.pause()
    case (.resume, .stream(let stream)?): stream.resume()
    case (.close, let destination):
      destinations[flow] = nil
      switch destination {
      case .stream(let stream): stream.close()
      case .datagrams(let datagrams): datagrams.close()
      case .opening, nil: break
      }
    default: break
    }
  }
}

extension Endpoint {
  /// `nil`: the text is neither an address nor a domain name.
  init?(host text: String, port: UInt16) {
    guard let host = IPAddress(text).map({ Host.address($0) }) ?? DomainName(text).map({ .name($0) }) else { return nil }
    self.init(host: host, port: port)
  }

  /// The host as a message has it.
  var hostText: String {
    switch host {
    case .address(let address): address.description
    case .name(let name): name.text
    }
  }
}

extension StreamEvent {
  var flowEvent: SimpleTunnelFlow.Event {
    switch self {
    case .data(let bytes): .data(bytes)
    case .drained: .drained
    case .ended: .ended
    case .broken: .broken
    }
  }
}

extension FlowFailure {
  /// The failure as a server says it.
  var openResult: SimpleTunnelMessage.OpenResult {
    switch self {
    case .noSuchHost: .noSuchHost
    case .refused, .forbidden, .crowded, .unrouted: .refused
    case .timedOut: .timeout
    case .unsupportedAddress, .unsupportedCommand, .malformed, .tooLong: .invalidParameter
    case .general, .networkUnreachable, .hostUnreachable: .internalError
    }
  }

  /// The failure that a server has said; `nil`: it has opened the flow.
  init?(_ result: SimpleTunnelMessage.OpenResult) {
    switch result {
    case .success: return nil
    case .invalidParameter: self = .malformed
    case .noSuchHost: self = .noSuchHost
    case .refused: self = .refused
    case .timeout: self = .timedOut
    case .internalError: self = .hostUnreachable
    }
  }
}
