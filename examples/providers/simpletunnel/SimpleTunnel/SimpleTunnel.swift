internal import JSON
internal import NetworkTypes
public import ProviderProtocol
public import RoamwardProvider

/// SimpleTunnel's client for IP packets, as a provider. Insecure: see `SimpleTunnelMessage`.
///
/// A silent server is asked for its configuration, which shows whether it is there. On another network the client connects again: a TCP
/// connection has the addresses of its network.
public final class SimpleTunnel: TunnelProvider {
  /// From the connection to the server's answer.
  static let patience = Duration.seconds(10)
  /// Between two looks at whether something came from the server. After `doubt` looks in vain the tunnel carries nothing, after `loss` it
  /// has failed.
  static let interval = Duration.seconds(5)
  private static let (doubt, loss) = (4, 11)
  /// Above this many unsent bytes no packets are read from the link.
  static let mostUnsent = 262_144

  private let host: ProviderHost
  private var socket: (any OutsideSocket)?
  private var flow: (any PacketFlow)?
  private var frames = SimpleTunnelFrames()
  private var identifier: UInt32 = 0
  private var limit: ProviderTimer?
  private var server: Endpoint?
  /// Looks since something came from the server.
  private var silence = 0
  private var phase = Phase.opening

  private enum Phase {
    /// The connection is not open.
    case opening
    case open
    /// It was open, and the server answers nothing.
    case silent
  }

  /// The reasons why no packets are read from the link: the server said so, or the stream is full.
  private var (isSuspended, isFull) = (false, false)

  public init(host: ProviderHost) { self.host = host }

  public func start(_ request: StartRequest) {
    (socket, flow, limit, server, silence) = (nil, nil, nil, nil, 0)
    guard let server = request.options["server"]?.string.flatMap({ Endpoint($0) }) else {
      return fail("invalid-options", "server is HOST:PORT", .person)
    }
    self.server = server
    connect()
  }

  private func connect() {
    guard let server else { return }
    (isSuspended, isFull, frames, phase) = (false, false, SimpleTunnelFrames(), .opening)
    identifier = UInt32.random(in: 1...UInt32.max)
    limit?.cancel()
    limit = host.after(Self.patience) { [weak self] in self?.fail("connect-timeout", "the server did not answer within 10 s", .time) }
    let number = identifier
    host.connect(.tcp, to: server) { [weak self] result in
      guard let self else { return }
      // Another network has come meanwhile.
      guard number == identifier else { return (try? result.get())?.close() ?? () }
      switch result {
      case .success(let socket): connected(socket)
      case .failure(let refusal): fail(refusal.code, refusal.text, .time)
      }
    }
  }

  public func networkChanged(_ path: NetworkPath?) {
    guard flow != nil else { return }
    socket?.close()
    socket = nil
    phase = .opening
    limit?.cancel()
    guard path != nil else { return host.reasserting("no-network", "there is no network") }
    host.reasserting("network-changed", "connects again on another network")
    connect()
  }

  private func look() {
    silence += 1
    guard phase != .opening, silence > 1 else { return }
    if silence == Self.doubt {
      phase = .silent
      host.reasserting("peer-timeout", "the server has not answered for 15 s")
    }
    if silence >= Self.loss { return fail("peer-timeout", "the server has not answered for 50 s; check its address", .time) }
    send(.fetchConfiguration(nil))
  }

  public func stop(_ reason: StopReason) {
    send(.close(.all))
    host.stopped()
  }

  private func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) {
    host.fail(TunnelFailure(code: code, text: "\(host.tunnel): \(text)", help: help))
  }

  private func send(_ body: SimpleTunnelMessage.Body) {
    if let frame = SimpleTunnelFrames.frame(SimpleTunnelMessage(identifier: identifier, body: body)) { socket?.send([frame]) }
  }

  private func connected(_ socket: any OutsideSocket) {
    self.socket = socket
    socket.receive { [weak self] input in
      switch input {
      case .data(let pieces): self?.received(Array(pieces.joined()))
      case .ended(let reason): self?.fail("server-closed", "the connection ended: \(reason)", .time)
      }
    }
    send(.open(.packets))
  }

  private func received(_ bytes: [UInt8]) {
    silence = 0
    if phase == .silent { carry() }
    do throws(SimpleTunnelFrames.Refusal) {
      for message in try frames.receive(bytes) where message.identifier == identifier { take(message.body) }
    } catch {
      fail("server-error", "the server sent no message: \(error)", .nobody)
    }
  }

  private func take(_ body: SimpleTunnelMessage.Body) {
    switch body {
    case .openResult(let result, let configuration): opened(result, configuration)
    case .packets(let packets): flow?.writePackets(unchecked: packets)
    case .suspend:
      isSuspended = true
      adjust()
    case .resume:
      isSuspended = false
      adjust()
    case .close: fail("server-closed", "the server closed the tunnel", .time)
    case .dns: host.log(.notice, "simpletunnel", "the server sent the command dns (5), which is not implemented")
    case .data, .open, .fetchConfiguration: break
    }
  }

  private func opened(_ result: SimpleTunnelMessage.OpenResult, _ configuration: Configuration?) {
    guard limit?.isCancelled == false else { return }
    limit?.cancel()
    switch result {
    case .success: break
    case .invalidParameter: return fail("invalid-parameter", "the server refuses the parameters of this client", .nobody)
    case .noSuchHost: return fail("no-such-host", "the server knows no such host", .person)
    case .refused: return fail("server-full", "the server refuses more clients: it has no free address", .time)
    case .timeout: return fail("server-timeout", "the server waited in vain", .time)
    case .internalError: return fail("server-error", "the server has an internal error", .time)
    }
    guard var settings = configuration?.settings else { return fail("no-address", "the server gave no address", .person) }
    settings.remoteAddress = socket?.remote.address
    host.apply(settings) { [weak self] result in
      switch result {
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .person)
      // Of a new connection, whose address may be another one.
      case .success: if self?.flow != nil { self?.carry() }
      }
    }
    if flow != nil { return }
    host.openDevice { [weak self] result in
      switch result {
      case .success(let flow): self?.opened(flow)
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .nobody)
      }
    }
  }

  private func opened(_ flow: any PacketFlow) {
    self.flow = flow
    flow.readPackets { [weak self] packets in self?.forward(packets) }
    carry()
    host.every(Self.interval) { [weak self] in self?.look() }
  }

  private func carry() {
    phase = .open
    adjust()
    host.ready()
  }

  /// Up to 32 packets and 128 KiB a message. The server takes no packet above 8,192 bytes.
  private func forward(_ packets: [Packet]) {
    var batch: [[UInt8]] = []
    var size = 0
    for packet in packets where packet.bytes.count <= SimpleTunnelMessage.longestPacket {
      if batch.count == SimpleTunnelMessage.mostPackets || size + packet.bytes.count > SimpleTunnelFrames.longest - 2048 {
        send(.packets(batch))
        (batch, size) = ([], 0)
      }
      batch.append(packet.bytes)
      size += packet.bytes.count
    }
    if !batch.isEmpty { send(.packets(batch)) }
    guard let socket, socket.unsentBytes > Self.mostUnsent, !isFull else { return }
    isFull = true
    adjust()
    socket.whenDrained { [weak self] in
      self?.isFull = false
      self?.adjust()
    }
  }

  private func adjust() { if isSuspended || isFull { flow?.pauseReading() } else { flow?.resumeReading() } }
}
