internal import FlowProtocol
internal import Glibc
internal import LinuxIO
internal import NetworkTypes

/// The datagrams of an association by a socket of each family, which are made when they are needed.
final class DirectDatagrams: FlowDatagrams {
  /// The longest datagram of UDP, and the datagrams that are read at once.
  static let (longest, batch) = (65_507, 16)
  /// Names of one association, and datagrams that wait for the address of each.
  private static let (mostNames, mostWaiting) = (64, 8)
  /// A name's address is looked up again after this time.
  private static let lifetime = Duration.seconds(60)

  private enum Name {
    case waiting([(data: [UInt8], port: UInt16)])
    case known([IPAddress], until: Moment)
  }

  private var destinations = DatagramDestinations()
  private let loop: DescriptorLoop
  private let find: (Endpoint.Host, @escaping ([IPAddress]) -> Void) -> Void
  private let deliver: (RelayedDatagram) -> Void
  private var ports: [IPAddress.Family: (port: DatagramPort, source: DescriptorLoop.Source)] = [:]
  private var names: [DomainName: Name] = [:]
  private var isClosed = false

  init(
    on loop: DescriptorLoop, find: @escaping (Endpoint.Host, @escaping ([IPAddress]) -> Void) -> Void,
    _ deliver: @escaping (RelayedDatagram) -> Void
  ) {
    self.loop = loop
    self.find = find
    self.deliver = deliver
  }

  func send(_ data: [UInt8], to endpoint: Endpoint) {
    switch endpoint.host {
    case .address(let address): send(data, to: [address], endpoint.port)
    case .name(let name): send(data, to: name, endpoint.port)
    }
  }

  func close() {
    (ports, names) = ([:], [:])
    isClosed = true
  }

  private func send(_ data: [UInt8], to name: DomainName, _ port: UInt16) {
    switch names[name] {
    case .known(let addresses, let end)? where end > .now: return send(data, to: addresses, port)
    case .waiting(let waiting)?:
      if waiting.count < Self.mostWaiting { names[name] = .waiting(waiting + [(data, port)]) }
      return
    case .known?, nil:
      if names[name] == nil, names.count >= Self.mostNames { names = names.filter { if case .waiting = $0.value { true } else { false } } }
      guard names.count < Self.mostNames else { return }
      names[name] = .waiting([(data, port)])
    }
    find(.name(name)) { [weak self] addresses in
      guard let self, !isClosed, case .waiting(let waiting)? = names[name] else { return }
      names[name] = addresses.isEmpty ? nil : .known(addresses, until: .now + Self.lifetime)
      for one in waiting { send(one.data, to: addresses, one.port) }
    }
  }

  /// To the first address that a datagram can be sent to.
  private func send(_ data: [UInt8], to addresses: [IPAddress], _ port: UInt16) {
    for address in addresses {
      guard destinations.send(to: address, port: port), let socket = self.port(address.family) else { continue }
      if socket.send(data, to: address, port: port) { return }
    }
  }

  private func port(_ family: IPAddress.Family) -> DatagramPort? {
    if let known = ports[family] { return known.port }
    guard !isClosed, let port = try? DatagramPort(nil, family, port: 0),
      let source = try? loop.whenReadable(port.file.number, { [weak self] in self?.receive(port) })
    else { return nil }
    ports[family] = (port, source)
    return port
  }

  private func receive(_ port: DatagramPort) {
    for _ in 0..<Self.batch {
      guard !isClosed, let datagram = port.receive(atMost: Self.longest) else { return }
      guard destinations.answers(from: datagram.from, port: datagram.port) else { continue }
      deliver(RelayedDatagram(endpoint: Endpoint(host: .address(datagram.from), port: datagram.port), data: datagram.bytes))
    }
  }
}
