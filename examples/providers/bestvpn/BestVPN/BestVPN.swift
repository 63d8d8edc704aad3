internal import JSON
internal import NetworkTypes
public import ProviderProtocol
public import RoamwardProvider

/// BestVPN's client as a provider. Insecure: see `BestVPNCodec`.
///
/// Unlike the original, which waits for ever, crashes or sends once, this one ends each start exactly once: it repeats its question, tries
/// the next address of the server's name, and tells a refusal from silence. It asks a silent server again whether it is there, and uses a
/// new socket on another network.
public final class BestVPN: TunnelProvider {
  /// From the first question to a server until it counts as silent.
  static let patience = Duration.seconds(10)
  /// The same, if the name has more addresses.
  static let impatience = Duration.seconds(3)

  /// Between two looks at whether something came from the server. After `doubt` looks in vain the tunnel carries nothing, after `loss` it
  /// has failed.
  static let interval = Duration.seconds(5)
  private static let (doubt, loss) = (4, 11)

  private let host: ProviderHost
  private var codec: BestVPNCodec?
  private var request: [UInt8]?
  private var options = Options()
  private var remaining: ArraySlice<IPAddress> = []
  private var socket: (any OutsideSocket)?
  private var flow: (any PacketFlow)?
  private var retry: ProviderTimer?
  private var limit: ProviderTimer?
  private var server: Endpoint?
  /// Looks since something came from the server.
  private var silence = 0
  /// Whether it carries nothing now.
  private var isReasserting = false
  /// Datagrams that were no messages of the server.
  public private(set) var refusedDatagrams = 0

  private struct Options {
    var port: UInt16 = 0
    var settings = TunnelSettings()
  }

  public init(host: ProviderHost) { self.host = host }

  public func start(_ request: StartRequest) {
    (socket, flow, retry, limit, remaining, server, silence, isReasserting) = (nil, nil, nil, nil, [], nil, 0, false)
    let options = request.options
    guard let server = options["server"]?.string.flatMap({ Endpoint($0) }), let login = options["login"]?.string,
      let address = options["address"]?.string.flatMap({ InterfaceAddress($0) })
    else { return fail("invalid-options", "server is HOST:PORT, login a name, address is ADDRESS/LENGTH", .person) }
    guard let key = host.credential("key"), let codec = BestVPNCodec(key: key) else {
      return fail("invalid-key", "the credential `key` has 32 bytes, and there is no default", .person)
    }
    guard let password = host.credential("password").flatMap({ String(validating: $0, as: UTF8.self) }) else {
      return fail("no-password", "the credential `password` is missing", .person)
    }
    self.codec = codec
    self.request = codec.seal(.authenticate(login: login, password: password))
    let routes = (options["routes"]?.array ?? []).compactMap { $0.string.flatMap { IPPrefix($0) } }
    self.options = Options(
      port: server.port, settings: TunnelSettings(addresses: [address], includedRoutes: routes, overhead: BestVPNCodec.overhead + 48))
    switch server.host {
    case .address(let address): tryNext(of: [address])
    case .name(let name):
      host.resolve(name) { [weak self] result in
        switch result {
        case .success(let addresses): self?.tryNext(of: addresses[...])
        case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
        }
      }
    }
  }

  public func stop(_ reason: StopReason) { host.stopped() }

  /// The socket has an address of the network before.
  public func networkChanged(_ path: NetworkPath?) {
    guard flow != nil else { return }
    if path == nil { reassert("no-network", "there is no network") } else { reconnect() }
  }

  private func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) {
    host.fail(TunnelFailure(code: code, text: "\(host.tunnel): \(text)", help: help))
  }

  private func reassert(_ code: Word, _ text: String) {
    isReasserting = true
    host.reasserting(code, text)
  }

  private func tryNext(of addresses: ArraySlice<IPAddress>) {
    socket?.close()
    guard let first = addresses.first else {
      return fail("connect-timeout", "the server did not answer; check its address, and the key", .time)
    }
    remaining = addresses.dropFirst()
    host.connect(.udp, to: Endpoint(host: .address(first), port: options.port)) { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let socket): connected(socket)
      case .failure: tryNext(of: remaining)
      }
    }
  }

  private func connected(_ socket: any OutsideSocket) {
    use(socket)
    options.settings.remoteAddress = socket.remote.address
    limit = host.after(remaining.isEmpty ? Self.patience : Self.impatience) { [weak self] in
      guard let self else { return }
      retry?.cancel()
      tryNext(of: remaining)
    }
    ask(again: .milliseconds(500))
  }

  private func use(_ socket: any OutsideSocket) {
    (self.socket, server) = (socket, socket.remote)
    socket.receive { [weak self] input in if case .data(let datagrams) = input { self?.received(datagrams) } }
  }

  /// To the same server, by a new socket.
  private func reconnect() {
    guard let server else { return }
    socket?.close()
    socket = nil
    retry?.cancel()
    silence = max(silence, 1)
    host.connect(.udp, to: server) { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let socket):
        use(socket)
        ask(again: .milliseconds(500))
      // The next look tries again.
      case .failure(let refusal): reassert(refusal.code, refusal.text)
      }
    }
  }

  private func look() {
    silence += 1
    if silence == Self.doubt { reassert("peer-timeout", "the server has not answered for 15 s") }
    if silence >= Self.loss { return fail("peer-timeout", "the server has not answered for 50 s; check its address", .time) }
    guard silence > 1 else { return }
    if socket == nil { reconnect() } else if let request { socket?.send([request]) }
  }

  /// UDP loses datagrams: the question is repeated, each time after twice the time.
  private func ask(again pause: Duration) {
    if let request { socket?.send([request]) }
    retry = host.after(pause) { [weak self] in self?.ask(again: pause * 2) }
  }

  private func received(_ datagrams: [[UInt8]]) {
    guard let codec else { return }
    var packets: [[UInt8]] = []
    var isAnswer = false
    for datagram in datagrams {
      switch try? codec.open(datagram) {
      case .authenticated(let isOK):
        isAnswer = true
        answered(isOK)
      case .data(let packet):
        isAnswer = true
        packets.append(packet)
      // A client's question that comes back is no answer.
      case .authenticate, nil: refusedDatagrams += 1
      }
    }
    if isAnswer { heard() }
    if !packets.isEmpty { flow?.writePackets(unchecked: packets) }
  }

  /// Something came from the server.
  private func heard() {
    guard flow != nil else { return }
    retry?.cancel()
    silence = 0
    if isReasserting { host.ready() }
    isReasserting = false
  }

  private func answered(_ isOK: Bool) {
    guard isOK else { return fail("auth-failed", "the server refused login or password; check them", .person) }
    guard limit?.isCancelled == false else { return }
    limit?.cancel()
    retry?.cancel()
    host.apply(options.settings) { [weak self] result in
      if case .failure(let refusal) = result { self?.fail(refusal.code, refusal.text, .person) }
    }
    host.openDevice { [weak self] result in
      switch result {
      case .success(let flow): self?.opened(flow)
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .nobody)
      }
    }
  }

  private func opened(_ flow: any PacketFlow) {
    self.flow = flow
    flow.readPackets { [weak self] packets in
      guard let self, let codec else { return }
      socket?.send(packets.map { codec.seal(.data($0.bytes)) })
    }
    host.ready()
    host.every(Self.interval) { [weak self] in self?.look() }
  }
}
