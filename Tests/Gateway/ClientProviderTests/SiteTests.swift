import ClientProvider
import JSON
import KeyMemory
import LoginProtocol
import NetworkTypes
import ProviderProtocol
import RoamwardProviderTesting
import Testing

extension ClientTests {
  @Suite("The client of several gateways") struct Sites {
    private static let paris = "203.0.113.10:51820"
    private static let lyon = "203.0.113.20:51820"
    private let keys: [SecretKey]
    private let grants: [LoginGrant]

    init() throws {
      keys = [try #require(SecretKey(bytes: 1...32)), try #require(SecretKey(bytes: 3...34))]
      func addresses(_ texts: String...) -> [IPAddress] { texts.compactMap { IPAddress($0) } }
      let sites = [
        GatewaySite(
          name: "paris", key: try #require(keys[0].publicBytes), endpoint: Self.paris, addresses: addresses("10.77.0.2"),
          gatewayAddresses: addresses("10.77.0.1")),
        GatewaySite(
          name: "lyon", key: try #require(keys[1].publicBytes), endpoint: Self.lyon, pin: [UInt8](repeating: 9, count: 32), relayPort: 443,
          addresses: addresses("10.77.1.2"), gatewayAddresses: addresses("10.77.1.1")),
      ]
      var first = grant
      (first.gatewayKey, first.addresses, first.gatewayAddresses) = (sites[0].key, sites[0].addresses, sites[0].gatewayAddresses)
      first.sites = sites
      grants = [first, first.at(sites[1])]
    }

    /// Logged in at paris, and connected there unless `answering` says otherwise.
    private func connected(
      _ further: JSON.Member..., answering: Set<String> = [paris, lyon], delays: [String: Duration] = [:]
    ) throws -> (Host, MemoryEngine) {
      let host = Host(GatewayClient<MemoryEngine>.self, tunnel: "corp")
      let engine = try #require(MemoryEngine.last)
      (engine.answering, engine.delays) = (answering, delays)
      guard case .object(let members) = options else { throw Failure() }
      host.start(.object(members + further), credentials: ["password": [112]])
      let gateway = try #require(MemoryGateway(host.sockets.last))
      _ = gateway.messages()
      gateway.say(.welcome(version: 1, methods: [.password]))
      gateway.say(.done(grants[0]))
      host.advance(by: .milliseconds(200))
      return (host, engine)
    }

    private struct Failure: Error {}

    private func addresses(_ host: Host) -> [String] { host.settings?.addresses.map(\.address.description) ?? [] }

    @Test("the gateway is greeted each 15 s at most, however close the looks are; what it sends itself is no reason") func greetings()
      throws
    {
      let (host, engine) = try connected()
      func greeted(_ body: () -> Void) -> Int {
        let before = engine.greeted.count
        body()
        return engine.greeted.count - before
      }
      let withData = greeted {
        for _ in 0..<120 {
          engine.reading?.received += 1_000
          engine.reading?.sent += 1_000
          host.advance(by: .seconds(1))
        }
      }
      #expect((6...8).contains(withData), "\(withData)")
      host.advance(by: .seconds(60))
      let withPushes = greeted {
        for number in 1...40 {
          var pushed = grants[0]
          pushed.mtu = 1_300 + UInt16(number % 2)
          engine.push(UInt64(number), pushed, from: keys[0])
          engine.reading?.received += 300
          host.advance(by: .seconds(10))
        }
      }
      #expect(withPushes <= 1 && host.settings?.mtu == 1_300, "\(withPushes)")
      #expect(greeted { host.advance(by: .seconds(700)) } == 1)
    }

    @Test("it changes to a nearer gateway, with its addresses and key, and without a login") func nearer() throws {
      let (host, engine) = try connected(delays: [Self.paris: .milliseconds(40), Self.lyon: .milliseconds(12)])
      #expect(host.state == .connected && addresses(host) == ["10.77.0.2"])
      host.advance(by: .seconds(10))
      #expect(host.transport == "by UDP to \(Self.paris), which answers; gateway paris, 40 ms; lyon, 12 ms")
      host.advance(by: .seconds(35))
      #expect(host.state == .connected && addresses(host) == ["10.77.1.2"] && host.reassertion == "gateway-changed")
      #expect(engine.field("endpoint") == Self.lyon && host.violations.isEmpty && host.sockets.count == 1)
      #expect(engine.listening?.at.description == "10.77.1.2")
      host.advance(by: .seconds(10))
      #expect(host.transport == "by UDP to \(Self.lyon), which answers; gateway lyon, 12 ms; paris, 40 ms")
      // Settings of the new one count, those of the old one do not any more.
      var pushed = grants[1]
      pushed.mtu = 1300
      engine.push(5, pushed, from: keys[1])
      host.advance(by: .zero)
      #expect(host.settings?.mtu == 1300)
      engine.push(50, grants[0], from: keys[0])
      host.advance(by: .zero)
      #expect(host.settings?.mtu == 1300 && addresses(host) == ["10.77.1.2"])
      // A later start begins there.
      let other = Host(GatewayClient<MemoryEngine>.self, tunnel: "corp")
      let second = try #require(MemoryEngine.last)
      (second.answering, other.kept) = ([Self.lyon], host.kept)
      other.start(options)
      other.advance(by: .seconds(1))
      #expect(other.state == .connected && other.sockets.isEmpty && addresses(other) == ["10.77.1.2"])
      let number = other.send(.typed("status", .null))
      guard case .success(.typed(_, let value)) = other.replies[number] else { throw Failure() }
      #expect(value["gateway"] == "lyon" && value["gateways"]?.array?.count == 2)
    }

    @Test("a gateway that does not answer data is left within 15 s for one that answers") func dead() throws {
      let (host, engine) = try connected(delays: [Self.lyon: .milliseconds(30)])
      // Data flows, and is answered.
      for _ in 0..<20 {
        engine.reading?.sent += 1000
        engine.reading?.received += 1000
        host.advance(by: .seconds(1))
      }
      #expect(host.state == .connected && addresses(host) == ["10.77.0.2"])
      engine.answering = [Self.lyon]
      var seconds = 0
      while addresses(host) != ["10.77.1.2"], seconds < 60 {
        engine.reading?.sent += 1000
        host.advance(by: .seconds(1))
        seconds += 1
      }
      #expect(seconds <= 16, "\(seconds) s")
      host.advance(by: .seconds(1))
      #expect(host.state == .connected && host.violations.isEmpty && host.sockets.count == 1 && host.ends.isEmpty)
      host.advance(by: .seconds(10))
      #expect(host.transport.hasSuffix("gateway lyon, 30 ms; paris does not answer"))
      // It comes back by a clear gain, after a span.
      engine.answering = [Self.paris, Self.lyon]
      host.advance(by: .seconds(120))
      #expect(addresses(host) == ["10.77.0.2"] && host.state == .connected && host.sockets.count == 1)
    }

    @Test("a start at a dead gateway uses the next one; only where none answers, a login is asked for") func start() throws {
      let (host, engine) = try connected()
      host.stop()
      engine.answering = [Self.lyon]
      host.start(options)
      host.advance(by: .seconds(8))
      #expect(host.state == .connected && addresses(host) == ["10.77.1.2"] && host.sockets.count == 1 && host.violations.isEmpty)
      host.stop()
      engine.answering = []
      host.start(options)
      host.advance(by: .seconds(25))
      // The relay at lyon, and its login's port.
      #expect(host.sockets.count == 3 && host.state == .starting)
    }

    @Test("the policy may name a gateway") func named() throws {
      let (host, engine) = try connected(.init(key: "gateway", value: "lyon"))
      #expect(host.state == .connected && addresses(host) == ["10.77.1.2"] && engine.field("endpoint") == Self.lyon)
      #expect(host.transport == "by UDP to \(Self.lyon), which answers; gateway lyon; as the policy wants")
      host.advance(by: .seconds(3600))
      #expect(addresses(host) == ["10.77.1.2"] && host.violations.isEmpty)
    }

    @Test("where nothing answers, both are sought, and the run fails after a while") func nothing() throws {
      let (host, engine) = try connected()
      engine.answering = []
      for _ in 0..<200 where host.ends.isEmpty {
        engine.reading?.sent += 1000
        host.advance(by: .seconds(1))
      }
      guard case .failed(let failure) = host.ends.last else { throw Failure() }
      #expect(failure.code == "peer-timeout" && host.violations.isEmpty)
      #expect(engine.requests.contains { $0.contains("replace_peers=true") && $0.contains(Self.lyon) })
    }

    @Test("a gateway that joins while the tunnel is up is measured too") func joins() throws {
      var alone = grants[0]
      alone.sites = []
      let (host, engine) = try connected(delays: [Self.paris: .milliseconds(40)])
      engine.push(1, alone, from: keys[0])
      host.advance(by: .seconds(60))
      #expect(addresses(host) == ["10.77.0.2"] && host.transport.hasSuffix("which answers"))
      engine.push(2, grants[0], from: keys[0])
      host.advance(by: .seconds(60))
      #expect(addresses(host) == ["10.77.1.2"] && host.violations.isEmpty && host.state == .connected)
    }
  }
}
