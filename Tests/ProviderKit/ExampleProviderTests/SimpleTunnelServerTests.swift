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
    let pool = try #require(Self.pool("10.9.0.2", last))
    return SimpleTunnelServer(
      configuration: Configuration(routes: ["10.9.0.0/24"], servers: ["10.9.0.1"], searchDomains: ["corp.example"]), pool: pool)
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
    #expect(server.disconnect(clients[3]) == [])
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

  @Test("packets for one client go in few messages; a client whose stream is full loses them") func batches() throws {
    var server = try Self.server()
    let client = server.connect()
    _ = server.receive(try Self.frame(1, .open(.packets)), from: client)
    let packet = [UInt8]([0x45] + [UInt8](repeating: 0, count: 15) + [10, 9, 0, 2] + [UInt8](repeating: 7, count: 1380))
    let bodies = try Self.bodies(server.deliver(Array(repeating: packet, count: 70)), to: client)
    #expect(bodies.map { if case .packets(let packets) = $0 { packets.count } else { 0 } } == [32, 32, 6])
    #expect(server.fill(client) == [] && server.deliver([packet]) == [])
    #expect(server.drain(client) == [] && server.deliver([packet]).count == 1)
  }

  @Test("flows are opened as asked, once each, and told apart from tunnels; each result is said") func flows() throws {
    var server = try Self.server()
    let client = server.connect()
    func flow(_ id: UInt32) -> SimpleTunnelServer.Flow { SimpleTunnelServer.Flow(client: client, identifier: id) }
    func receive(_ id: UInt32, _ body: SimpleTunnelMessage.Body) throws -> [SimpleTunnelServer.Action] {
      server.receive(try Self.frame(id, body), from: client)
    }
    let target = SimpleTunnelMessage.Target.stream(host: "git.corp.example", port: 443)
    _ = try receive(1, .open(.packets))
    #expect(try receive(2, .open(target)) == [.open(flow(2), target)])
    #expect(try receive(3, .open(.datagrams)) == [.open(flow(3), .datagrams)])
    for (id, again) in [(UInt32(1), target), (2, .packets), (3, .datagrams)] {
      #expect(try Self.bodies(receive(id, .open(again)), to: client) == [.openResult(.invalidParameter, nil)])
    }
    // Data before the result is nobody's.
    #expect(try receive(2, .data([1], host: nil, port: nil)) == [])
    for (number, result) in SimpleTunnelMessage.OpenResult.allCases.enumerated() {
      let id = UInt32(10 + number)
      _ = try receive(id, .open(target))
      #expect(try Self.bodies(server.opened(flow(id), result), to: client) == [.openResult(result, nil)])
      #expect(server.opened(flow(id), result) == [])
    }
    #expect(try receive(10, .data([1, 2], host: nil, port: nil)) == [.endpoint(flow(10), .write([1, 2], host: nil, port: nil))])
    #expect(try Self.bodies(server.take(.data([3]), of: flow(10)), to: client) == [.data([3], host: nil, port: nil)])
    #expect(try receive(11, .data([1], host: nil, port: nil)) == [])
    // One that is given up before it is open, and all of a client that leaves.
    #expect(try receive(2, .close(.all)) == [.giveUp(flow(2))] && server.opened(flow(2), .success) == [])
    #expect(server.disconnect(client) == [.giveUp(flow(3)), .endpoint(flow(10), .close)])
    #expect(server.opened(flow(3), .success) == [] && server.take(.data([1]), of: flow(10)) == [])
  }

  @Test("a client has at most 1024 flows, and reads of all stop while its stream is full") func bounds() throws {
    var server = try Self.server()
    let client = server.connect()
    for id in 1...UInt32(SimpleTunnelFlows.most) {
      _ = server.receive(try Self.frame(id, .open(.datagrams)), from: client)
      _ = server.opened(SimpleTunnelServer.Flow(client: client, identifier: id), .success)
    }
    let refused = try Self.bodies(server.receive(Self.frame(5000, .open(.datagrams)), from: client), to: client)
    #expect(refused == [.openResult(.refused, nil)])
    #expect(server.fill(client).count == SimpleTunnelFlows.most && server.fill(client) == [])
    #expect(server.drain(client).count == SimpleTunnelFlows.most && server.drain(client) == [])
  }

  @Test("a fetch has no address; without a pool packets are refused; the reserved command is ignored") func others() throws {
    var server = try Self.server()
    let client = server.connect()
    let fetched = try Self.bodies(server.receive(Self.frame(0, .fetchConfiguration(nil)), from: client), to: client)
    #expect(fetched == [.fetchConfiguration(Configuration(servers: ["10.9.0.1"], searchDomains: ["corp.example"]))])
    var flowsAlone = SimpleTunnelServer(configuration: Configuration(), pool: nil)
    let other = flowsAlone.connect()
    let refused = try Self.bodies(flowsAlone.receive(Self.frame(3, .open(.packets)), from: other), to: other)
    #expect(refused == [.openResult(.refused, nil)])
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
        case .close, .open, .endpoint, .giveUp: Issue.record("\(action)")
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
