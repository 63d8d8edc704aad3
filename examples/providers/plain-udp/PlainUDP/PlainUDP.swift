internal import JSON
internal import NetworkTypes
public import ProviderProtocol
public import RoamwardProvider

/// A tunnel without encryption, for learning: each IP packet is a UDP datagram. One byte 0 asks the server whether it is there, one byte 1
/// is its answer. Anybody on the way can read and forge the packets.
public final class PlainUDP: TunnelProvider {
  private let host: ProviderHost
  private var server: (any OutsideSocket)?
  private var flow: (any PacketFlow)?
  private var settings = TunnelSettings()
  private var (isConnected, unanswered) = (false, 0)

  public init(host: ProviderHost) { self.host = host }

  public func start(_ request: StartRequest) {
    (server, flow, isConnected, unanswered) = (nil, nil, false, 0)
    guard let remote = request.options["server"]?.string.flatMap({ Endpoint($0) }),
      let address = request.options["address"]?.string.flatMap({ InterfaceAddress($0) })
    else { return fail("invalid-options", "server is HOST:PORT, address is ADDRESS/LENGTH", .person) }
    let routes = (request.options["routes"]?.array ?? []).compactMap { $0.string.flatMap { IPPrefix($0) } }
    // A datagram needs 20 or 40 bytes for its IP header and 8 for UDP's.
    settings = TunnelSettings(addresses: [address], includedRoutes: routes, overhead: 48)
    connect(to: remote)
    host.every(.seconds(5)) { [weak self] in self?.ask() }
  }

  public func stop(_ reason: StopReason) { host.stopped() }

  public func networkChanged(_ path: NetworkPath?) { if path != nil, let server { connect(to: server.remote) } }

  public func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    guard case .typed("statistics", _) = message else {
      return reply(.failure(Refusal(code: "unknown-type", text: "this provider knows `statistics`")))
    }
    reply(.success(.typed("statistics", ["connected": .bool(isConnected), "dropped": .integer(Int64(flow?.droppedPackets ?? 0))])))
  }

  private func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) {
    host.fail(TunnelFailure(code: code, text: "\(host.tunnel): \(text)", help: help))
  }

  private func connect(to remote: Endpoint) {
    host.connect(.udp, to: remote) { [weak self] result in
      switch result {
      case .success(let socket): self?.connected(socket)
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
      }
    }
  }

  private func connected(_ socket: any OutsideSocket) {
    server?.close()
    server = socket
    settings.remoteAddress = socket.remote.address
    socket.receive { [weak self] input in if case .data(let datagrams) = input { self?.received(datagrams) } }
    ask()
  }

  private func ask() {
    unanswered += 1
    if isConnected, unanswered == 4 { host.reasserting("peer-timeout", "the server has not answered for 15 s") }
    if unanswered > 12 { return fail("peer-timeout", "the server has not answered for a minute; check its address", .time) }
    server?.send([[0]])
  }

  private func received(_ datagrams: [[UInt8]]) {
    if datagrams.contains([1]) { answered() }
    flow?.writePackets(unchecked: datagrams.filter { $0.count > 1 })
  }

  private func answered() {
    if !isConnected { apply() } else if unanswered >= 4 { host.ready() }
    unanswered = 0
  }

  private func apply() {
    isConnected = true
    host.apply(settings) { [weak self] in if case .failure(let refusal) = $0 { self?.fail(refusal.code, refusal.text, .person) } }
    host.openDevice { [weak self] result in
      switch result {
      case .success(let flow): self?.opened(flow)
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .nobody)
      }
    }
  }

  private func opened(_ flow: any PacketFlow) {
    self.flow = flow
    flow.readPackets { [weak self] packets in self?.server?.send(packets.map(\.bytes)) }
    host.ready()
  }
}
