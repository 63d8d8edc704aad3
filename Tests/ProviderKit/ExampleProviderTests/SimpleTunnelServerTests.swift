import JSON
import NetworkTypes
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting
import SeededRandom
import SimpleTunnel
import Testing

/// SimpleTunnel's server, alone and with the provider.
@Suite struct SimpleTunnelServerTests {
  static func pool(_ first: String, _ last: String) -> AddressPool? {
    guard let first = IPAddress(first), let last = IPAddress(last) else { return nil }
    return AddressPool(from: first, to: last)
  }

  static func server(to last: String = "10.9.0.10") throws -> SimpleTunnelServer {
    let pool = Self.pool("10.9.0.2", last)
    return SimpleTunnelServer(
      configuration: Configuration(routes: ["10.9.0.0/24"], servers: ["10.9.0.1"], searchDomains: ["corp.example"]),
      pool: try #require(pool))
  }

  static func frame(_ id: UInt32, _ body: SimpleTunnelMessage.Body) throws -> [UInt8] {
    try #require(SimpleTunnelFrames.frame(SimpleTunnelMessage(identifier: id, body: body)))
  }

  /// The messages that a client got.
  static func bodies(_ actions: [SimpleTunnelServer.Action], to client: Int) throws -> [SimpleTunnelMessage.Body] {
    var frames = SimpleTunnelFrames()
    return try actions.flatMap { action in
      guard case .send(client, let bytes) = action else { return [SimpleTunnelMessage.Body]() }
      return try frames.receive(bytes).map(\.body)
    }
  }

  @Test("a pool gives each address of its range, both ends too, and again what was released") func pool() throws {
    var pool = try #require(Self.pool("10.9.0.254", "10.9.1.1"))
    let first = (0..<5).map { _ in pool.take()?.description }
    #expect(first == ["10.9.0.254", "10.9.0.255", "10.9.1.0", "10.9.1.1", nil])
    let released = try #require(IPAddress("10.9.0.255"))
    pool.release(released)
    #expect(pool.take() == released && pool.take() == nil)
    #expect(Self.pool("10.9.0.3", "10.9.0.2") == nil && Self.pool("2001:db8::1", "2001:db8::2") == nil)
  }

  @Test("nine addresses serve nine clients; the tenth is refused, until one leaves") func exhaustion() throws {
    var server = try Self.server()
    var results: [SimpleTunnelMessage.Body] = []
    let clients = (0..<10).map { _ in server.connect() }
    for client in clients { results += try Self.bodies(server.receive(Self.frame(7, .open(.packets)), from: client), to: client) }
    let addresses = results.compactMap { if case .openResult(.success, let pushed) = $0 { pushed?.address } else { nil } }
    #expect(addresses == (2...10).map { "10.9.0.\($0)" } && results.last == .openResult(.refused, nil))
    server.disconnect(clients[3])
    let again = try Self.bodies(server.receive(Self.frame(8, .open(.packets)), from: clients[9]), to: clients[9])
    guard case .openResult(.success, let pushed) = again.first else {
      Issue.record("\(again)")
      return
    }
    #expect(pushed?.address == "10.9.0.5" && pushed?.routes == ["10.9.0.0/24"])
  }

  @Test("two connections of one client have their own addresses; a source that is not theirs is dropped") func connections() throws {
    var server = try Self.server()
    let client = server.connect()
    for id: UInt32 in [1, 2] { _ = server.receive(try Self.frame(id, .open(.packets)), from: client) }
    func packet(_ source: UInt8, _ target: UInt8) -> [UInt8] {
      [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 1, 0, 0, 10, 9, 0, source, 10, 9, 0, target]
    }
    #expect(
      server.receive(try Self.frame(1, .packets([packet(2, 1), packet(3, 1), packet(9, 1)])), from: client) == [.forward([packet(2, 1)])])
    #expect(server.forged == 2)
    #expect(try Self.bodies(server.deliver([packet(1, 3), packet(1, 9), [1]]), to: client) == [.packets([packet(1, 3)])])
    _ = server.receive(try Self.frame(1, .close(.all)), from: client)
    #expect(try server.receive(Self.frame(1, .packets([packet(2, 1)])), from: client) == [])
  }

  @Test("a fetch has no address; flows are refused; the reserved command is ignored") func others() throws {
    var server = try Self.server()
    let client = server.connect()
    let fetched = try Self.bodies(server.receive(Self.frame(0, .fetchConfiguration(nil)), from: client), to: client)
    #expect(fetched == [.fetchConfiguration(Configuration(servers: ["10.9.0.1"], searchDomains: ["corp.example"]))])
    let flow = try Self.bodies(server.receive(Self.frame(3, .open(.datagrams)), from: client), to: client)
    #expect(flow == [.openResult(.invalidParameter, nil)])
    #expect(try server.receive(Self.frame(0, .dns), from: client) == [])
  }

  @Test("a frame out of bounds closes that client alone") func oversize() throws {
    var server = try Self.server()
    let (bad, good) = (server.connect(), server.connect())
    #expect(server.receive([1, 0, 2, 0], from: bad) == [.close(bad)] && server.receive([1], from: bad) == [])
    #expect(try server.receive(Self.frame(1, .open(.packets)), from: good).count == 1)
  }

  @Test("provider and server: settings, and packets both ways, in pieces of any length", arguments: [UInt64(1), 2])
  func together(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var server = try Self.server()
    let client = server.connect()
    let host = MemoryHost(SimpleTunnel.self)
    host.start(["server": "192.0.2.1:8890"])
    var forwarded: [[UInt8]] = []
    func exchange() {
      let stream = Array(host.sockets[0].takeSent().joined())
      var start = 0
      while start < stream.count {
        let end = min(stream.count, start + 1 + Int(random.next() % 300))
        run(server.receive(Array(stream[start..<end]), from: client))
        start = end
      }
    }
    func run(_ actions: [SimpleTunnelServer.Action]) {
      for action in actions {
        switch action {
        case .send(_, let bytes):
          for start in stride(from: 0, to: bytes.count, by: 50) {
            host.sockets[0].deliver([Array(bytes[start..<min(bytes.count, start + 50)])])
          }
        case .forward(let packets): forwarded += packets
        case .close: Issue.record("closed")
        }
      }
    }
    exchange()
    #expect(host.state == .connected && host.settings?.addresses.first?.address == IPAddress("10.9.0.2"))
    #expect(host.settings?.dns?.matchDomains.map(\.text) == ["corp.example"])
    let out = try #require(pingPacket)
    let back = try #require(Packet([0x45] + [UInt8](repeating: 0, count: 11) + [10, 9, 0, 1, 10, 9, 0, 2]))
    host.flow?.deliver(Array(repeating: out, count: 100))
    exchange()
    run(server.deliver(Array(repeating: back.bytes, count: 10)))
    #expect(forwarded == Array(repeating: out.bytes, count: 100) && host.flow?.takeWritten() == Array(repeating: back, count: 10))
    #expect(server.forged == 0 && host.violations.isEmpty)
  }
}
