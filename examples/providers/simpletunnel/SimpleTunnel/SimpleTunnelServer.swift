internal import NetworkTypes

/// A SimpleTunnel server as a value: bytes of clients, packets of the network and events of destinations go in, actions come out. It has
/// tunnels of IP packets and flows of applications. Insecure, as the protocol.
public struct SimpleTunnelServer: Sendable {
  public typealias Client = Int

  /// A flow of one client.
  public struct Flow: Hashable, Sendable {
    public let client: Client
    public let identifier: UInt32

    public init(client: Client, identifier: UInt32) {
      self.client = client
      self.identifier = identifier
    }
  }

  public enum Action: Hashable, Sendable {
    /// Send bytes to a client. A stream that does not take all of them at once is told by `fill`.
    case send(Client, [UInt8])
    /// Give packets to the network.
    case forward([[UInt8]])
    /// Open a destination for a flow, and then call `opened`.
    case open(Flow, SimpleTunnelMessage.Target)
    /// Do this at the destination of a flow that is open.
    case endpoint(Flow, SimpleTunnelFlow.Action)
    /// A flow is over before its destination was open.
    case giveUp(Flow)
    /// Close a client's stream. Others are not concerned.
    case close(Client)
  }

  /// A client's tunnel of IP packets.
  private struct Tunnel: Sendable {
    let client: Client
    let identifier: UInt32
  }

  private struct Connection: Sendable {
    var frames = SimpleTunnelFrames()
    var flows = SimpleTunnelFlows()
    /// Flows whose destinations are being opened.
    var opening: Set<UInt32> = []
    var isFull = false
  }

  private let configuration: Configuration
  /// `nil`: it has no tunnels of IP packets.
  private var pool: AddressPool?
  private var clients: [Client: Connection] = [:]
  private var nextClient = 1
  /// By the client's address.
  private var tunnels: [IPAddress: Tunnel] = [:]
  /// Packets whose source is not the address of their sender.
  public private(set) var forged = 0

  /// `configuration`: what is pushed to each client, without its address.
  public init(configuration: Configuration, pool: AddressPool?) {
    self.configuration = configuration
    self.pool = pool
  }

  /// A client has connected.
  public mutating func connect() -> Client {
    defer { nextClient += 1 }
    clients[nextClient] = Connection()
    return nextClient
  }

  /// A client's stream has ended: its addresses are free again, and its flows are over.
  public mutating func disconnect(_ client: Client) -> [Action] {
    guard let connection = clients.removeValue(forKey: client) else { return [] }
    for (address, tunnel) in tunnels where tunnel.client == client { release(address) }
    return connection.opening.sorted().map { .giveUp(Flow(client: client, identifier: $0)) }
      + connection.flows.identifiers.map { .endpoint(Flow(client: client, identifier: $0), .close) }
  }

  /// Bytes came from a client. After `close` for it, nothing more is accepted.
  public mutating func receive(_ bytes: [UInt8], from client: Client) -> [Action] {
    guard var frames = clients[client]?.frames else { return [] }
    do throws(SimpleTunnelFrames.Refusal) {
      let messages = try frames.receive(bytes)
      clients[client]?.frames = frames
      return messages.flatMap { take($0, from: client) }
    } catch {
      return disconnect(client) + [.close(client)]
    }
  }

  /// Packets came from the network: each goes to the client that has its destination. One whose stream is full loses them.
  public func deliver(_ packets: [[UInt8]]) -> [Action] {
    var batches: [(tunnel: Tunnel, packets: [[UInt8]], bytes: Int)] = []
    for packet in packets {
      guard let tunnel = Self.address(in: packet, at: 16).flatMap({ tunnels[$0] }), clients[tunnel.client]?.isFull == false else {
        continue
      }
      let place = batches.lastIndex { $0.tunnel.client == tunnel.client && $0.tunnel.identifier == tunnel.identifier }
      if let place, batches[place].packets.count < SimpleTunnelMessage.mostPackets, batches[place].bytes + packet.count <= 65_536 {
        batches[place].packets.append(packet)
        batches[place].bytes += packet.count
      } else {
        batches.append((tunnel, [packet], packet.count))
      }
    }
    return batches.compactMap { send(.packets($0.packets), $0.tunnel.identifier, to: $0.tunnel.client) }
  }

  // MARK: Flows

  /// The destination of a flow is open, or not.
  public mutating func opened(_ flow: Flow, _ result: SimpleTunnelMessage.OpenResult) -> [Action] {
    guard clients[flow.client]?.opening.remove(flow.identifier) != nil else { return [] }
    let answer = say(flow.identifier, result, flow.client)
    guard result == .success else { return answer }
    return answer + acted(clients[flow.client]?.flows.add(flow.identifier), of: flow.client)
  }

  /// Something happened at the destination of a flow.
  public mutating func take(_ event: SimpleTunnelFlow.Event, of flow: Flow) -> [Action] {
    acted(clients[flow.client]?.flows.take(event, of: flow.identifier), of: flow.client)
  }

  /// A client's stream has not taken all bytes at once.
  public mutating func fill(_ client: Client) -> [Action] {
    clients[client]?.isFull = true
    return acted(clients[client]?.flows.fill(), of: client)
  }

  public mutating func drain(_ client: Client) -> [Action] {
    clients[client]?.isFull = false
    return acted(clients[client]?.flows.drain(), of: client)
  }

  private func acted(_ actions: [SimpleTunnelFlows.Action]?, of client: Client) -> [Action] {
    (actions ?? []).compactMap { action in
      switch action {
      case .tell(let message): send(message.body, message.identifier, to: client)
      case .endpoint(let identifier, let action): .endpoint(Flow(client: client, identifier: identifier), action)
      }
    }
  }

  // MARK: Messages

  private mutating func take(_ message: SimpleTunnelMessage, from client: Client) -> [Action] {
    let id = message.identifier
    switch message.body {
    case .open(let target): return open(target, id, for: client)
    case .packets(let packets):
      let honest = packets.filter { packet in
        let tunnel = Self.address(in: packet, at: 12).flatMap { tunnels[$0] }
        return tunnel?.client == client && tunnel?.identifier == id
      }
      forged += packets.count - honest.count
      return honest.isEmpty ? [] : [.forward(honest)]
    case .close(.all) where address(of: id, client) != nil:
      if let address = address(of: id, client) { release(address) }
      return []
    case .close where clients[client]?.opening.remove(id) != nil: return [.giveUp(Flow(client: client, identifier: id))]
    case .data, .suspend, .resume, .close: return take(.message(message.body), of: Flow(client: client, identifier: id))
    case .fetchConfiguration:
      // Without an address: the question opens nothing.
      return [send(.fetchConfiguration(configuration), id, to: client)].compactMap(\.self)
    case .dns, .openResult: return []
    }
  }

  private mutating func open(_ target: SimpleTunnelMessage.Target, _ id: UInt32, for client: Client) -> [Action] {
    guard let connection = clients[client] else { return [] }
    guard address(of: id, client) == nil, !connection.opening.contains(id), !connection.flows.has(id) else {
      return say(id, .invalidParameter, client)
    }
    guard target == .packets else {
      guard connection.flows.count + connection.opening.count < SimpleTunnelFlows.most else { return say(id, .refused, client) }
      clients[client]?.opening.insert(id)
      return [.open(Flow(client: client, identifier: id), target)]
    }
    guard let address = pool?.take() else { return say(id, .refused, client) }
    tunnels[address] = Tunnel(client: client, identifier: id)
    var pushed = configuration
    pushed.address = address.description
    return [send(.openResult(.success, pushed), id, to: client)].compactMap(\.self)
  }

  /// The result of an `open`.
  private func say(_ id: UInt32, _ result: SimpleTunnelMessage.OpenResult, _ client: Client) -> [Action] {
    [send(.openResult(result, nil), id, to: client)].compactMap(\.self)
  }

  private func address(of id: UInt32, _ client: Client) -> IPAddress? {
    tunnels.first { $0.value.client == client && $0.value.identifier == id }?.key
  }

  private mutating func release(_ address: IPAddress) {
    tunnels[address] = nil
    pool?.release(address)
  }

  private func send(_ body: SimpleTunnelMessage.Body, _ id: UInt32, to client: Client) -> Action? {
    SimpleTunnelFrames.frame(SimpleTunnelMessage(identifier: id, body: body)).map { .send(client, $0) }
  }

  /// The IPv4 address at a place of a packet.
  private static func address(in packet: [UInt8], at place: Int) -> IPAddress? {
    guard packet.count >= 20, packet[0] >> 4 == 4 else { return nil }
    return IPAddress(bytes: packet[place..<place + 4])
  }
}
