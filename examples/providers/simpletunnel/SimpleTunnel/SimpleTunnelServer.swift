internal import NetworkTypes

/// A SimpleTunnel server for IP packets, as a value: bytes of clients and packets of the network go in, actions come out. Insecure, as the
/// protocol.
///
/// Flows of applications (`open` with `tunnel-type` 0) are refused: the client here is for packets.
public struct SimpleTunnelServer: Sendable {
  public typealias Client = Int

  public enum Action: Hashable, Sendable {
    /// Send bytes to a client.
    case send(Client, [UInt8])
    /// Give packets to the network.
    case forward([[UInt8]])
    /// Close a client's stream. Others are not concerned.
    case close(Client)
  }

  /// A client's tunnel of IP packets.
  private struct Tunnel: Sendable {
    let client: Client
    let identifier: UInt32
  }

  private let configuration: Configuration
  private var pool: AddressPool
  private var clients: [Client: SimpleTunnelFrames] = [:]
  private var nextClient = 1
  /// By the client's address.
  private var tunnels: [IPAddress: Tunnel] = [:]
  /// Packets whose source is not the address of their sender.
  public private(set) var forged = 0

  /// `configuration`: what is pushed to each client, without its address.
  public init(configuration: Configuration, pool: AddressPool) {
    self.configuration = configuration
    self.pool = pool
  }

  /// A client has connected.
  public mutating func connect() -> Client {
    defer { nextClient += 1 }
    clients[nextClient] = SimpleTunnelFrames()
    return nextClient
  }

  /// A client's stream has ended: its addresses are free again.
  public mutating func disconnect(_ client: Client) {
    clients[client] = nil
    for (address, tunnel) in tunnels where tunnel.client == client { release(address) }
  }

  /// Bytes came from a client. After `close` for it, nothing more is accepted.
  public mutating func receive(_ bytes: [UInt8], from client: Client) -> [Action] {
    guard var frames = clients[client] else { return [] }
    do throws(SimpleTunnelFrames.Refusal) {
      let messages = try frames.receive(bytes)
      clients[client] = frames
      return messages.flatMap { take($0, from: client) }
    } catch {
      disconnect(client)
      return [.close(client)]
    }
  }

  /// Packets came from the network: each goes to the client that has its destination.
  public func deliver(_ packets: [[UInt8]]) -> [Action] {
    packets.compactMap { packet in
      guard let tunnel = Self.address(in: packet, at: 16).flatMap({ tunnels[$0] }) else { return nil }
      return send(.packets([packet]), tunnel.identifier, to: tunnel.client)
    }
  }

  private mutating func take(_ message: SimpleTunnelMessage, from client: Client) -> [Action] {
    let id = message.identifier
    switch message.body {
    case .open(.packets): return [open(id, for: client)].compactMap(\.self)
    case .open: return [send(.openResult(.invalidParameter, nil), id, to: client)].compactMap(\.self)
    case .packets(let packets):
      let honest = packets.filter { packet in
        let tunnel = Self.address(in: packet, at: 12).flatMap { tunnels[$0] }
        return tunnel?.client == client && tunnel?.identifier == id
      }
      forged += packets.count - honest.count
      return honest.isEmpty ? [] : [.forward(honest)]
    case .close(let type):
      guard type == .all, let address = tunnels.first(where: { $0.value.client == client && $0.value.identifier == id })?.key else {
        return []
      }
      release(address)
      return []
    case .fetchConfiguration:
      // Without an address: the question opens nothing.
      return [send(.fetchConfiguration(configuration), id, to: client)].compactMap(\.self)
    case .data, .suspend, .resume, .dns, .openResult: return []
    }
  }

  private mutating func open(_ id: UInt32, for client: Client) -> Action? {
    guard !tunnels.values.contains(where: { $0.client == client && $0.identifier == id }) else {
      return send(.openResult(.invalidParameter, nil), id, to: client)
    }
    guard let address = pool.take() else { return send(.openResult(.refused, nil), id, to: client) }
    tunnels[address] = Tunnel(client: client, identifier: id)
    var pushed = configuration
    pushed.address = address.description
    return send(.openResult(.success, pushed), id, to: client)
  }

  private mutating func release(_ address: IPAddress) {
    tunnels[address] = nil
    pool.release(address)
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
