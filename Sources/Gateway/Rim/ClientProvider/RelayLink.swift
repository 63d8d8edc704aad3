internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardProvider

/// A connection to the gateway's relay (docs/wire-format.md): TLS over a socket of the agent, and datagrams between it and the engine.
final class RelayLink {
  /// Until the relay has answered.
  static let patience = Duration.seconds(6)
  /// With so many bytes that the network has not taken, nothing is read from the engine.
  private static let full = 65_536

  private enum Phase {
    case greeting(LoginFrameStream)
    case relaying(RelayStream)
  }

  private let host: ProviderHost
  private let server: Endpoint
  private let tls: TLSClient
  private let port: any EnginePort
  private let opened: () -> Void
  private let ended: (String) -> Void
  private var phase = Phase.greeting(LoginFrameStream())
  private var hasAsked = false
  private var socket: (any OutsideSocket)?
  private var limit: ProviderTimer?
  private var isClosed = false
  /// Handshake messages that came through it.
  private(set) var relayedHandshakes: UInt64 = 0

  /// `opened` is called once the relay carries datagrams, `ended` when it cannot, or not any more: why. Neither is called after `close`.
  init?(
    _ host: ProviderHost, to server: Endpoint, pin: String, engine: any ClientEngine, enginePort: UInt16, opened: @escaping () -> Void,
    ended: @escaping (String) -> Void
  ) {
    final class Way { var take: ([[UInt8]]) -> Void = { _ in } }
    let way = Way()
    guard let tls = TLSClient(pin: pin), let port = engine.openPort(from: enginePort, { way.take($0) }) else { return nil }
    self.host = host
    self.server = server
    self.tls = tls
    self.port = port
    self.opened = opened
    self.ended = ended
    way.take = { [weak self] in self?.send($0) }
  }

  /// The endpoint to which the engine sends, instead of to the gateway.
  var engineEndpoint: Endpoint { port.endpoint }

  func open() {
    limit = host.after(Self.patience) { [weak self, server] in self?.end("\(server) does not answer within \(Self.patience)") }
    host.connect(.tcp, to: server) { [weak self] result in
      switch result {
      case .failure(let refusal): self?.end(refusal.text)
      case .success(let socket):
        guard let self, !isClosed else { return socket.close() }
        self.socket = socket
        socket.receive { [weak self] input in
          switch input {
          case .data(let pieces): for piece in pieces { self?.take(piece) }
          case .ended(let reason): self?.end(reason)
          }
        }
        flush()
      }
    }
  }

  func close() {
    isClosed = true
    limit?.cancel()
    socket?.close()
    socket = nil
    port.close()
  }

  private func end(_ reason: String) {
    guard !isClosed else { return }
    close()
    ended(reason)
  }

  // MARK: From the gateway

  private func take(_ bytes: [UInt8]) {
    // TLS takes so many at once.
    for start in stride(from: 0, to: bytes.count, by: 16_384) {
      guard !isClosed else { return }
      do throws(TLSClient.Failure) {
        let plain = try tls.receive(Array(bytes[start..<min(bytes.count, start + 16_384)]))
        if tls.isProven, !hasAsked {
          hasAsked = true
          tls.send(ClientMessage.relay(versions: 1...1).frame.bytes)
        }
        flush()
        try take(plain: plain)
      } catch {
        switch error {
        case .ended: end("\(server) ended the connection, or is no gateway")
        case .otherKey(let found): end("\(server) has another key, \(found): something else is there, or the network intercepts TLS")
        }
      }
    }
  }

  private func take(plain: [UInt8]) throws(TLSClient.Failure) {
    var bytes = plain
    if case .greeting(var frames) = phase {
      do throws(LoginFrameError) {
        guard let (frame, rest) = try frames.receiveFirst(bytes) else { return phase = .greeting(frames) }
        switch try GatewayMessage(frame) {
        case .relaying: break
        case .failed(.later, _): return end("\(server) has too many relays")
        default: return end("\(server) relays nothing")
        }
        bytes = rest
      } catch {
        throw .ended
      }
      limit?.cancel()
      phase = .relaying(RelayStream())
      opened()
    }
    guard case .relaying(var stream) = phase, !isClosed else { return }
    do throws(RelayFrameError) {
      let datagrams = try stream.receive(bytes)
      phase = .relaying(stream)
      for datagram in datagrams where [.initiation, .response].contains(RelayFrame.Kind(datagram)) { relayedHandshakes += 1 }
      if !datagrams.isEmpty { port.deliver(datagrams) }
    } catch {
      throw .ended
    }
  }

  // MARK: From the engine

  private func send(_ datagrams: [[UInt8]]) {
    guard case .relaying = phase, !isClosed else { return }
    var bytes: [UInt8] = []
    for datagram in datagrams { RelayFrame.append(datagram, to: &bytes) }
    guard !bytes.isEmpty else { return }
    tls.send(bytes)
    flush()
    guard let socket, socket.unsentBytes > Self.full else { return }
    port.pause()
    socket.whenDrained { [weak self] in self?.port.resume() }
  }

  private func flush() {
    let bytes = tls.takeOutput()
    if !bytes.isEmpty { socket?.send([bytes]) }
  }
}
