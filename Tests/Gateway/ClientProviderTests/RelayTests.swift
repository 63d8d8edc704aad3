import ClientProvider
import JSON
import KeyMemory
import LoginProtocol
import NetworkTypes
import ProviderProtocol
import RoamwardProviderTesting
import Testing

// Tests of a client whose UDP is blocked.
extension ClientTests {
  private static let initiation = [1, 0, 0, 0] + [UInt8](repeating: 3, count: 144)
  private static let response = [2, 0, 0, 0] + [UInt8](repeating: 4, count: 88)
  private static let packet = [4, 0, 0, 0] + [UInt8](repeating: 5, count: 60)

  private static func options(adding more: [JSON.Member]) -> JSON {
    guard case .object(let members) = ClientProviderTests.options else { return .null }
    return .object(members + more)
  }

  private static var relayingGrant: LoginGrant {
    var relaying = grant
    relaying.relayPort = 443
    return relaying
  }

  /// A client that has logged in at a gateway that relays, where UDP is not answered, until the relay is asked for.
  private func asked(_ more: [JSON.Member] = []) throws -> (Host, MemoryEngine, MemoryGateway) {
    let host = Host(GatewayClient<MemoryEngine>.self, tunnel: "corp")
    let engine = try #require(MemoryEngine.last)
    engine.reading?.port = 4242
    host.start(Self.options(adding: more), credentials: ["password": [112]])
    let login = try #require(MemoryGateway(host.sockets.last))
    _ = login.messages()
    login.say(.welcome(version: 1, methods: [.password]))
    _ = login.messages()
    login.say(.done(Self.relayingGrant))
    host.advance(by: .seconds(more.isEmpty ? 3 : 1))
    let gateway = try #require(MemoryGateway(host.sockets.last))
    return (host, engine, gateway)
  }

  /// The same, connected by TCP.
  private func relayed(_ more: [JSON.Member] = []) throws -> (Host, MemoryEngine, MemoryGateway) {
    let (host, engine, gateway) = try asked(more)
    #expect(gateway.messages() == [.relay(versions: 1...1)] && gateway.socket.transport == .tcp)
    engine.answering.insert("127.0.0.1:7777")
    gateway.say(.relaying(version: 1))
    host.advance(by: .milliseconds(200))
    #expect(host.state == .connected && host.violations.isEmpty, "\(host.ends)")
    return (host, engine, gateway)
  }

  private func statusReply(_ host: Host) -> JSON? {
    let number = host.send(.typed("status", .null))
    guard case .success(.typed(_, let value)) = host.replies[number] else { return nil }
    return value
  }

  @Test("the relay is used by itself, and datagrams pass in both directions") func relays() throws {
    let (host, engine, gateway) = try relayed()
    #expect(gateway.socket.remote.description == "203.0.113.10:443" && host.sockets.count == 2)
    #expect(engine.field("endpoint") == "127.0.0.1:7777")
    #expect(host.transport == "by TCP to the relay 203.0.113.10:443, because 203.0.113.10:51820 does not answer by UDP")
    #expect(statusReply(host)?["transport"] == "tcp")
    let port = try #require(engine.port)
    port.take([Self.initiation, [9, 9], Self.packet])
    #expect(gateway.datagrams() == [Self.initiation, Self.packet])
    var bytes: [UInt8] = []
    RelayFrame.append(Self.response, to: &bytes)
    RelayFrame.append(Self.packet, to: &bytes)
    gateway.say(Array(bytes.prefix(40)))
    gateway.say(Array(bytes.dropFirst(40)))
    #expect(port.delivered == [Self.response, Self.packet])
    // The relay would end without them.
    #expect(engine.requests.last?.contains("persistent_keepalive_interval=0") != true)
  }

  @Test("UDP is probed, and taken when it is answered, in the session that is there") func returns() throws {
    let (host, engine, gateway) = try relayed()
    host.advance(by: .seconds(10))
    #expect(engine.requests.last?.contains("probe=203.0.113.10:51820") == true && host.state == .connected)
    host.advance(by: .seconds(5))
    #expect(!gateway.socket.isClosed)
    engine.answering.insert("203.0.113.10:51820")
    let sessions = engine.requests.filter { $0.contains("replace_peers") }.count
    host.advance(by: .seconds(20))
    #expect(gateway.socket.isClosed && engine.port?.isClosed == true && host.state == .connected)
    let move = "update_only=true\nendpoint=203.0.113.10:51820\npersistent_keepalive_interval=0"
    #expect(engine.requests.contains { $0.contains(move) })
    #expect(engine.requests.filter { $0.contains("replace_peers") }.count == sessions)
    #expect(host.transport == "by UDP to 203.0.113.10:51820, which answers" && statusReply(host)?["transport"] == "udp")
    #expect(host.reassertion == nil && host.violations.isEmpty)
  }

  @Test("a relay that the gateway allows while the tunnel is up is taken in the next network that blocks UDP") func allowedLater() throws {
    let host = Host(GatewayClient<MemoryEngine>.self, tunnel: "corp")
    let engine = try #require(MemoryEngine.last)
    let key = try #require(SecretKey(bytes: 1...32))
    var first = grant
    first.gatewayKey = try #require(key.publicBytes)
    engine.answering = ["203.0.113.10:51820"]
    engine.reading?.port = 4242
    host.start(Self.options(adding: []), credentials: ["password": [112]])
    let login = try #require(MemoryGateway(host.sockets.last))
    _ = login.messages()
    login.say(.welcome(version: 1, methods: [.password]))
    _ = login.messages()
    login.say(.done(first))
    host.advance(by: .seconds(1))
    var second = first
    second.relayPort = 443
    engine.push(10, second, from: key)
    host.advance(by: .seconds(1))
    #expect(host.state == .connected && host.sockets.count == 1)
    engine.answering = []
    host.networkChanged(NetworkPath(interface: "eth0", kind: .ethernet))
    host.advance(by: .seconds(4))
    let relay = try #require(MemoryGateway(host.sockets.last))
    #expect(host.sockets.count == 2 && relay.messages() == [.relay(versions: 1...1)] && host.violations.isEmpty)
  }

  @Test("a handshake that the relay carries is no answer to the probe") func handshakeOfRelay() throws {
    let (host, engine, gateway) = try relayed()
    host.advance(by: .seconds(10))
    var bytes: [UInt8] = []
    RelayFrame.append(Self.response, to: &bytes)
    gateway.say(bytes)
    engine.handshakeThroughRelay()
    host.advance(by: .seconds(5))
    #expect(!gateway.socket.isClosed && statusReply(host)?["transport"] == "tcp")
  }

  @Test("a relay that ends is opened again, and the tunnel stays up", arguments: [false, true]) func ends(byNonsense: Bool) throws {
    let (host, engine, gateway) = try relayed()
    if byNonsense { gateway.say([0, 1, 2]) } else { gateway.socket.end(reason: "reset") }
    #expect(gateway.socket.isClosed || !byNonsense)
    host.advance(by: .milliseconds(3200))
    #expect(host.sockets.count == 3 && host.state == .connected)
    let again = try #require(MemoryGateway(host.sockets.last))
    #expect(again.messages() == [.relay(versions: 1...1)])
    again.say(.relaying(version: 1))
    host.advance(by: .milliseconds(300))
    #expect(engine.field("endpoint") == "127.0.0.1:7777" && statusReply(host)?["transport"] == "tcp" && host.violations.isEmpty)
  }

  @Test("what is no relay, or refuses, is said beside the reason for which it was tried") func refused() throws {
    for refusal in [GatewayMessage.failed(.unsupported, retryAfter: 0), .failed(.later, retryAfter: 30), nil] {
      let (host, _, gateway) = try asked()
      if let refusal {
        #expect(gateway.messages() == [.relay(versions: 1...1)])
        gateway.say(refusal)
      } else {
        gateway.socket.deliver([Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)])
      }
      guard case .failed(let failure) = host.ends.last else {
        Issue.record("the run goes on: \(host.state)")
        continue
      }
      #expect(failure.code == "peer-timeout" && failure.text.contains("neither by UDP nor by TCP port 443 (203.0.113.10:443 "))
    }
  }

  @Test("a slow network stops the taking from the engine, and nothing piles up") func slow() throws {
    let (host, engine, gateway) = try relayed()
    defer { withExtendedLifetime(host) {} }
    let port = try #require(engine.port)
    gateway.socket.isStalled = true
    let large = [4, 0, 0, 0] + [UInt8](repeating: 5, count: 16_000)
    for _ in 0..<6 where !port.isPaused { port.take([large]) }
    #expect(port.isPaused)
    gateway.socket.isStalled = false
    #expect(!port.isPaused)
  }

  @Test("a policy may want one of the two alone") func preferences() throws {
    let (host, engine, _) = try relayed([.init(key: "transport", value: "tcp")])
    host.advance(by: .seconds(300))
    #expect(!engine.requests.contains { $0.contains("probe=") || $0.contains("endpoint=203.0.113.10:51820") })
    #expect(host.transport == "by TCP to the relay 203.0.113.10:443, as the policy wants")
    let (udp, _) = (Host(GatewayClient<MemoryEngine>.self, tunnel: "corp"), 0)
    udp.kept = host.kept
    udp.start(Self.options(adding: [.init(key: "transport", value: "udp")]), credentials: ["password": [112]])
    udp.advance(by: .seconds(8))
    // It logs in, to find out whether the gateway knows the device; there was no relay.
    #expect(udp.sockets.count == 1 && udp.sockets.first?.remote.port == 51_820)
  }

  @Test("a login finds the gateway at port 443 where its own port is blocked; nothing else is believed there") func loginElsewhere() throws
  {
    for isGateway in [true, false] {
      let host = Host(GatewayClient<MemoryEngine>.self, tunnel: "corp")
      host.unreachablePorts = [51_820]
      host.start(Self.options(adding: []), credentials: ["password": [112]])
      #expect(host.sockets.last?.remote.description == "203.0.113.10:443")
      guard isGateway else {
        host.sockets.last?.deliver([Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)])
        guard case .failed(let failure) = host.ends.last else { throw Surprise.goesOn }
        #expect(failure.code == "unreachable" && failure.text.contains("203.0.113.10:51820 takes no connection"))
        continue
      }
      let gateway = try #require(MemoryGateway(host.sockets.last))
      guard case .hello = gateway.messages().first else { throw Surprise.goesOn }
    }
  }

  private enum Surprise: Error { case goesOn }
}
