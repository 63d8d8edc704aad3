import ClientProvider
import GatewayCredentials
import JSON
import KeyMemory
import LoginProtocol
import NetworkTypes
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting

@testable import GatewayAuth

/// An engine in memory: the test says whether the gateway answers.
final class MemoryEngine: ClientEngine {
  /// Of the engine that was made last.
  nonisolated(unsafe) static weak var last: MemoryEngine?

  var requests: [String] = []
  var reading: EngineReading? = EngineReading()
  /// The addresses at which a gateway answers.
  var answering: Set<String> = []
  var interface: String?
  var isPrepared = false
  var trouble: EngineTrouble?
  var port: MemoryPort?
  /// The round trips to endpoints; 1 ms if there is none.
  var delays: [String: Duration] = [:]
  private let host: ProviderHost
  private var ended: () -> Void = {}

  init(host: ProviderHost) {
    self.host = host
    Self.last = self
  }

  var clock: UInt64 { host.now.nanoseconds &+ 1_700_000_000_000_000_000 }

  func prepare() { isPrepared = true }

  func start(on interface: String, ended: @escaping () -> Void) -> EngineTrouble? {
    if let trouble { return trouble }
    self.interface = interface
    self.ended = ended
    return nil
  }

  func configure(_ request: String) {
    requests.append(request)
    if let probe = line("probe", of: request), answering.contains(probe) {
      if let key = line("public_key", of: request), key != field("public_key") {
        reading?.others[key] = answerTime(probe)
      } else {
        handshake(probe)
      }
    }
    if request.contains("remove=true"), let key = line("public_key", of: request) { reading?.others[key] = nil }
    guard request.contains("replace_peers=true") else { return }
    reading = EngineReading()
    reading?.port = 4242
    if let endpoint = field("endpoint"), answering.contains(endpoint) { handshake(endpoint) }
  }

  private func answerTime(_ endpoint: String) -> UInt64 {
    let delay = delays[endpoint] ?? .milliseconds(1)
    return clock &+ UInt64(delay.components.attoseconds / 1_000_000_000) &+ UInt64(delay.components.seconds) &* 1_000_000_000
  }

  private func handshake(_ endpoint: String) {
    let last = reading?.handshake ?? 0
    reading?.handshake = max(answerTime(endpoint), last + 1)
  }

  private func line(_ name: String, of request: String) -> String? {
    request.split(separator: "\n").first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
  }

  func openPort(from engine: UInt16, _ take: @escaping ([[UInt8]]) -> Void) -> (any EnginePort)? {
    guard engine == 4242 else { return nil }
    let port = MemoryPort(take)
    self.port = port
    return port
  }

  /// The gateway answers an initiation that the engine has sent into the relay.
  func handshakeThroughRelay() { handshake("") }

  /// A value of the last configuration that sets the peer.
  func field(_ name: String) -> String? { requests.last { $0.contains("replace_peers=true") }.flatMap { line(name, of: $0) } }

  private(set) var reads = 0

  func read(_ then: @escaping (EngineReading?) -> Void) {
    reads += 1
    then(reading)
  }

  /// The address at which pushed settings are taken, with the function that takes them; and the gateways that were greeted.
  var listening: (at: IPAddress, take: ([UInt8]) -> Void)?
  var greeted: [IPAddress] = []

  func listen(at address: IPAddress, _ take: @escaping ([UInt8]) -> Void) -> EngineTrouble? {
    listening = (address, take)
    return nil
  }

  /// The datagrams that were sent to the gateway besides greetings.
  var told: [[UInt8]] = []

  func send(_ datagram: [UInt8], to gateway: IPAddress) {
    if datagram.isEmpty { greeted.append(gateway) } else { told.append(datagram) }
  }

  /// A push of the gateway whose private key is this one, as this device takes it.
  func push(_ number: UInt64, _ grant: LoginGrant, from gateway: SecretKey) {
    let key = field("private_key").flatMap { SecretKey(hexadecimal: $0) }
    guard let device = key?.publicBytes, let own = gateway.publicBytes else { return }
    let label = SettingsPush.label(gateway: own, device: device)
    guard let datagram = SettingsPush(number: number, grant).datagram({ gateway.seal($0, with: device, label: label) }) else { return }
    listening?.take(datagram)
  }

  /// The word that the session has ended, in the same way; `label`: of a seal of another use.
  func end(_ number: UInt64, from gateway: SecretKey, label: ([UInt8], [UInt8]) -> [UInt8] = SessionEnd.label) {
    let key = field("private_key").flatMap { SecretKey(hexadecimal: $0) }
    guard let device = key?.publicBytes, let own = gateway.publicBytes else { return }
    let datagram = SessionEnd(number: number).datagram { gateway.seal($0, with: device, label: label(own, device)) }
    if let datagram { listening?.take(datagram) }
  }
  func stop() { interface = nil }
  func crash() { ended() }
}

/// The port that stands for the gateway while a relay is used.
final class MemoryPort: EnginePort {
  let endpoint = Endpoint("127.0.0.1:7777") ?? Endpoint(host: .address(IPAddress(v4: 0x7f00_0001)), port: 7777)
  let take: ([[UInt8]]) -> Void
  var delivered: [[UInt8]] = []
  var isPaused = false
  var isClosed = false

  init(_ take: @escaping ([[UInt8]]) -> Void) { self.take = take }
  func deliver(_ datagrams: [[UInt8]]) { delivered += datagrams }
  func pause() { isPaused = true }
  func resume() { isPaused = false }
  func close() { isClosed = true }
}

/// The gateway's side of logins: the real TLS, and what the test has it say.
final class MemoryGateway {
  static let identity = LoginIdentity.make() ?? ""
  static let pin = LoginIdentity.pin(of: identity) ?? ""

  let socket: MemorySocket
  private let connection: TLSConnection
  private let server: TLSServer
  private var frames = LoginFrameStream()
  private var relayed = RelayStream()

  init?(_ socket: MemorySocket?, identity: String = MemoryGateway.identity) {
    guard let socket, let server = TLSServer(identity: identity), let connection = TLSConnection(server) else { return nil }
    self.socket = socket
    self.server = server
    self.connection = connection
  }

  /// Takes what the client has sent.
  func messages() -> [ClientMessage] {
    var messages: [ClientMessage] = []
    // The handshake has several turns.
    while true {
      let pieces = socket.takeSent()
      if pieces.isEmpty { return messages }
      for piece in pieces {
        let plain = connection.receive(piece) ?? []
        messages += ((try? frames.receive(plain)) ?? []).compactMap { try? ClientMessage($0) }
      }
      flush()
    }
  }

  func say(_ message: GatewayMessage) { say(message.frame.bytes) }

  func say(_ bytes: [UInt8]) {
    _ = connection.send(bytes)
    flush()
  }

  /// The datagrams that the client has sent through a relay.
  func datagrams() -> [[UInt8]] {
    socket.takeSent().flatMap { (try? relayed.receive(connection.receive($0) ?? [])) ?? [] }
  }

  private func flush() {
    let bytes = connection.takeOutput()
    if !bytes.isEmpty { socket.deliver([bytes]) }
  }
}

typealias Host = MemoryHost<GatewayClient<MemoryEngine>>

let options: JSON = [
  "server": "203.0.113.10:51820", "pin": .string(MemoryGateway.pin), "username": "alice", "device": "laptop",
]

let gatewayKey = [UInt8](repeating: 7, count: 32)

let grant = LoginGrant(
  user: "alice", device: "laptop", gatewayKey: gatewayKey, endpoint: "203.0.113.10:51820",
  addresses: ["10.77.0.2", "fd77::2"].compactMap { IPAddress($0) }, routes: ["10.20.0.0/16"].compactMap { IPPrefix($0) },
  dns: ["10.20.0.53"].compactMap { IPAddress($0) }, search: ["corp.example"], mtu: 1380)
