import JSON
import NetworkTypes
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting
import SeededRandom
import SimpleTunnel
import Testing

@Suite struct SimpleTunnelTests {
  /// Made with Python's plistlib; the last in the order of a client of 2018.
  static let vectors: [(SimpleTunnelMessage, String)] = [
    (
      SimpleTunnelMessage(identifier: 0x1234_5678, body: .open(.packets)),
      "6200000062706c6973743030d301020304050657636f6d6d616e645a6964656e7469666965725b74756e6e656c2d74797065100612123456781001080f17222e30"
        + "350000000000000101000000000000000700000000000000000000000000000037"
    ),
    (
      SimpleTunnelMessage(identifier: 0x1234_5678, body: .packets([ping])),
      "9100000062706c6973743030d4010203040506070957636f6d6d616e645a6964656e746966696572577061636b6574735970726f746f636f6c7310081212345678"
        + "a1084f101c450000546d1a4000400100000a0900020a0900010800f7ff00000000a10a1002081119242c36383d3f5e600000000000000101000000000000000b"
        + "00000000000000000000000000000062"
    ),
    (
      SimpleTunnelMessage(identifier: 0, body: .fetchConfiguration(nil)),
      "4d00000062706c6973743030d20102030457636f6d6d616e645a6964656e74696669657210091000080d152022000000000000010100000000000000050000000000"
        + "0000000000000000000024"
    ),
  ]

  static let configuration = Configuration(
    address: "10.9.0.2", routes: ["10.9.0.0/24", "0.0.0.0/1"], servers: ["10.9.0.1"], searchDomains: ["corp.example"])

  static let samples: [SimpleTunnelMessage.Body] = [
    .data([1, 2], host: nil, port: nil), .data([], host: "192.0.2.1", port: 53), .suspend, .resume, .close(.write), .dns, .open(.packets),
    .open(.datagrams), .open(.stream(host: "example.org", port: 443)), .openResult(.success, configuration), .openResult(.refused, nil),
    .packets([ping, [0x60] + [UInt8](repeating: 0, count: 39)]), .packets([]), .fetchConfiguration(nil),
    .fetchConfiguration(Configuration(servers: ["10.9.0.1"])),
  ]

  @Test("vectors of another implementation are written and read, byte for byte") func vectors() throws {
    for (message, hex) in Self.vectors {
      #expect(SimpleTunnelFrames.frame(message) == bytes(hex))
      var frames = SimpleTunnelFrames()
      #expect(try frames.receive(bytes(hex)) == [message])
    }
  }

  @Test("all nine commands are the same after writing and reading, in pieces of any length") func roundTrip() throws {
    let messages = Self.samples.map { SimpleTunnelMessage(identifier: .max, body: $0) }
    let stream = messages.compactMap { SimpleTunnelFrames.frame($0) }.flatMap { $0 }
    for length in [1, 7, 64, stream.count] {
      var frames = SimpleTunnelFrames()
      var found: [SimpleTunnelMessage] = []
      for start in stride(from: 0, to: stream.count, by: length) {
        found += try frames.receive(Array(stream[start..<min(stream.count, start + length)]))
      }
      #expect(found == messages)
    }
    #expect(Set(messages.map(\.command)) == Set(1...9))
  }

  @Test("lengths that no frame has break the stream") func lengths() {
    for length: UInt32 in [0, 1, 3, 4, 131_073, .max] {
      var frames = SimpleTunnelFrames()
      #expect(throws: SimpleTunnelFrames.Refusal.length(length)) {
        try frames.receive((0..<4).map { UInt8(truncatingIfNeeded: length >> UInt32(8 * $0)) })
      }
    }
    let full = SimpleTunnelMessage(identifier: 1, body: .data([UInt8](repeating: 0, count: 131_072), host: nil, port: nil))
    #expect(SimpleTunnelFrames.frame(full) == nil)
  }

  @Test("lists that are no message are refused: `bplist00` alone, XML, another top, wrong members") func lists() throws {
    func refusal(_ list: PropertyList) -> SimpleTunnelMessage.Refusal? {
      do throws(SimpleTunnelMessage.Refusal) {
        _ = try SimpleTunnelMessage(list)
        return nil
      } catch { return error }
    }
    for text in ["", "bplist00", "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict/></plist>"] {
      #expect(throws: PropertyList.Refusal.notBinary) { try PropertyList(decoding: Array(text.utf8)) }
    }
    #expect(refusal(.array([])) == .notADictionary)
    #expect(refusal(.dictionary(["identifier": .string("1"), "command": .integer(2)])) == .member("identifier"))
    #expect(refusal(.dictionary(["identifier": .integer(1), "command": .integer(10)])) == .unknownCommand(10))
    func open(_ port: PropertyList) -> PropertyList {
      .dictionary([
        "identifier": .integer(1), "command": .integer(6), "tunnel-type": .integer(0), "app-proxy-flow-type": .integer(1),
        "host": .string("a"), "port": port,
      ])
    }
    #expect(refusal(open(.string("80"))) == nil && refusal(open(.integer(80))) == nil)
    #expect(refusal(open(.string("x"))) == .member("port") && refusal(open(.integer(65_536))) == .member("port"))
    func packets(_ count: Int, _ families: [Int64]) -> PropertyList {
      .dictionary([
        "identifier": .integer(1), "command": .integer(8), "packets": .array(Array(repeating: .data(ping), count: count)),
        "protocols": .array(families.map { .integer($0) }),
      ])
    }
    #expect(refusal(packets(1, [2])) == nil && refusal(packets(2, [2])) == .member("protocols"))
    // 10 is AF_INET6 of Linux, 30 that of the protocol; this packet is IPv4.
    #expect(refusal(packets(1, [10])) == .member("protocols") && refusal(packets(1, [30])) == .member("protocols"))
    #expect(refusal(packets(33, Array(repeating: 2, count: 33))) == .member("packets"))
  }

  @Test("a list that names itself, or the same array again and again, ends at a bound") func bombs() {
    /// Arrays of two references each, in bytes of a reference; the last refers to `last`.
    func list(_ objects: [[UInt8]]) -> [UInt8] {
      var result = Array("bplist00".utf8)
      var offsets: [UInt8] = []
      for object in objects {
        offsets.append(UInt8(result.count))
        result += object
      }
      let table = result.count
      return result + offsets + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, UInt8(objects.count)] + [UInt8](repeating: 0, count: 8)
        + [0, 0, 0, 0, 0, 0, 0, UInt8(table)]
    }
    #expect(throws: PropertyList.Refusal.tooLarge) { try PropertyList(decoding: list([[0xa1, 0]])) }
    let doubling = (0..<15).map { [0xa2, UInt8($0 + 1), UInt8($0 + 1)] } + [[0x09]]
    #expect(throws: PropertyList.Refusal.tooLarge) { try PropertyList(decoding: list(doubling)) }
    #expect(throws: PropertyList.Refusal.outOfBounds) { try PropertyList(decoding: list([[0xa1, 7]])) }
    #expect(throws: PropertyList.Refusal.outOfBounds) {
      try PropertyList(decoding: list([[0x4f, 0x13, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]]))
    }
    #expect(throws: PropertyList.Refusal.unsupported(0x80)) { try PropertyList(decoding: list([[0x80, 0]])) }
  }

  @Test("any bytes give a message or an error", arguments: [UInt64(1), 2, 3]) func fuzz(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let payloads = Self.samples.map { SimpleTunnelMessage(identifier: 7, body: $0).propertyList.encoded }
    var read = 0
    for _ in 0..<fuzzCount {
      var bytes = random.pick(payloads)
      for _ in 0..<(1 + random.next() % 3) {
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 4 {
        case 0: bytes.removeSubrange(place..<min(bytes.count, place + 1 + Int(random.next() % 4)))
        case 1: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
        default: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        }
        if bytes.isEmpty { bytes = [0] }
      }
      guard let list = try? PropertyList(decoding: bytes) else { continue }
      // A list that was read is the same when written and read again.
      #expect(try PropertyList(decoding: list.encoded) == list, "seed \(seed)")
      if let message = try? SimpleTunnelMessage(list) {
        read += 1
        #expect(try SimpleTunnelMessage(message.propertyList) == message, "seed \(seed)")
      }
    }
    #expect(read > fuzzCount / 50, "seed \(seed): \(read)")
  }

  // MARK: The provider

  /// A client that has asked, and its identifier.
  static func started() throws -> (MemoryHost<SimpleTunnel>, UInt32) {
    let host = MemoryHost(SimpleTunnel.self)
    host.start(["server": "192.0.2.1:8890"])
    let first = try #require(try messages(host).first)
    #expect(first.body == .open(.packets))
    return (host, first.identifier)
  }

  static func messages(_ host: MemoryHost<SimpleTunnel>) throws -> [SimpleTunnelMessage] {
    var frames = SimpleTunnelFrames()
    return try frames.receive(Array(host.sockets[0].takeSent().joined()))
  }

  static func answer(_ host: MemoryHost<SimpleTunnel>, _ id: UInt32, _ body: SimpleTunnelMessage.Body) throws {
    host.sockets[0].deliver([try #require(SimpleTunnelFrames.frame(SimpleTunnelMessage(identifier: id, body: body)))])
  }

  static func code(_ host: MemoryHost<SimpleTunnel>) -> Word? {
    if case .failed(let failure) = host.ends.last { failure.code } else { nil }
  }

  @Test("pushed settings: routes split the tunnel, without them it takes all") func settings() throws {
    let (split, id) = try Self.started()
    try Self.answer(split, id, .openResult(.success, Self.configuration))
    #expect(split.state == .connected && split.settings?.addresses == [InterfaceAddress("10.9.0.2/32")].compactMap(\.self))
    #expect(split.settings?.includedRoutes.map(\.description) == ["10.9.0.0/24", "0.0.0.0/1"])
    #expect(split.settings?.dns?.matchDomains.map(\.text) == ["corp.example"] && split.settings?.overhead == 150)
    let (full, other) = try Self.started()
    try Self.answer(
      full, other, .openResult(.success, Configuration(address: "10.9.0.2", servers: ["10.9.0.1"], searchDomains: ["a.example"])))
    #expect(full.settings?.includedRoutes == [.everything(.v4)] && full.settings?.dns?.matchDomains == [])
  }

  @Test("packets go both ways, 32 in a message at most; those of another connection are ignored") func packets() throws {
    let (host, id) = try Self.started()
    try Self.answer(host, id, .openResult(.success, Self.configuration))
    let packet = try #require(pingPacket)
    host.flow?.deliver(Array(repeating: packet, count: 70))
    let counts = try Self.messages(host).map { if case .packets(let packets) = $0.body { packets.count } else { 0 } }
    #expect(counts == [32, 32, 6])
    try Self.answer(host, id, .packets([ping, [0x45]]))
    try Self.answer(host, id &+ 1, .packets([ping]))
    #expect(host.flow?.takeWritten() == [packet] && host.flow?.droppedPackets == 1)
  }

  @Test("suspend and a stream that is full pause the link, whose queue is bounded") func flowControl() throws {
    let (host, id) = try Self.started()
    try Self.answer(host, id, .openResult(.success, Self.configuration))
    let packet = try #require(Packet([0x45] + [UInt8](repeating: 0, count: 1399)))
    try Self.answer(host, id, .suspend)
    host.flow?.deliver(Array(repeating: packet, count: 600))
    #expect(host.sockets[0].sent.isEmpty && host.flow?.overflow == 88)
    try Self.answer(host, id, .resume)
    #expect(try Self.messages(host).count == 16)
    host.sockets[0].isStalled = true
    for _ in 0..<20 { host.flow?.deliver(Array(repeating: packet, count: 100)) }
    #expect(host.sockets[0].unsentBytes < 600_000)
    host.sockets[0].isStalled = false
    #expect(host.sockets[0].unsentBytes == 0)
    host.flow?.deliver([packet])
    #expect(host.sockets[0].sent.count > 10)
  }

  @Test("each result of the server, silence, its end and nonsense end the start with a code of their own") func failures() throws {
    var codes: [Word?] = []
    for result in SimpleTunnelMessage.OpenResult.allCases.dropFirst() {
      let (host, id) = try Self.started()
      try Self.answer(host, id, .openResult(result, nil))
      codes.append(Self.code(host))
    }
    #expect(codes == ["invalid-parameter", "no-such-host", "server-full", "server-timeout", "server-error"])
    let (silent, _) = try Self.started()
    silent.advance(by: .seconds(10))
    let (ended, _) = try Self.started()
    ended.sockets[0].end()
    let (broken, _) = try Self.started()
    broken.sockets[0].deliver([[0, 0, 0, 0]])
    #expect([silent, ended, broken].map { Self.code($0) } == ["connect-timeout", "server-closed", "server-error"])
    #expect([silent, ended, broken].allSatisfy { $0.ends.count == 1 && $0.sockets[0].isClosed && $0.violations.isEmpty })
  }

  @Test("a silent server is asked, doubted within 25 s and given up within 60 s; an answer in between reconnects") func silence() throws {
    let (host, id) = try Self.started()
    try Self.answer(host, id, .openResult(.success, Self.configuration))
    host.advance(by: .seconds(19))
    #expect(try host.state == .connected && Self.messages(host).last?.body == .fetchConfiguration(nil))
    host.advance(by: .seconds(2))
    #expect(host.state == .reasserting && host.reassertion == "peer-timeout")
    try Self.answer(host, id, .fetchConfiguration(Configuration()))
    #expect(host.state == .connected && host.violations.isEmpty)
    host.advance(by: .seconds(59))
    #expect(Self.code(host) == "peer-timeout" && host.violations.isEmpty)
  }

  @Test("another network gets another connection, whose address may be another one") func roams() throws {
    let (host, id) = try Self.started()
    try Self.answer(host, id, .openResult(.success, Self.configuration))
    host.networkChanged(nil)
    #expect(host.state == .reasserting && host.reassertion == "no-network")
    host.networkChanged(NetworkPath(interface: "wwan0", kind: .cellular))
    #expect(host.sockets.count == 2 && host.sockets[0].isClosed && host.state == .reasserting)
    var frames = SimpleTunnelFrames()
    let first = try #require(try frames.receive(Array(host.sockets[1].takeSent().joined())).first)
    #expect(first.body == .open(.packets) && first.identifier != id)
    var moved = Self.configuration
    moved.address = "10.9.0.3"
    let body = SimpleTunnelMessage.Body.openResult(.success, moved)
    host.sockets[1].deliver([try #require(SimpleTunnelFrames.frame(SimpleTunnelMessage(identifier: first.identifier, body: body)))])
    #expect(host.state == .connected && host.violations.isEmpty)
    #expect(host.settings?.addresses == [InterfaceAddress("10.9.0.3/32")].compactMap(\.self))
    host.flow?.deliver([try #require(pingPacket)])
    #expect(host.sockets[1].takeSent().count == 1)
  }

  @Test("a stop closes the connection at the server") func stop() throws {
    let (host, id) = try Self.started()
    try Self.answer(host, id, .openResult(.success, Self.configuration))
    _ = try Self.messages(host)
    host.stop()
    #expect(try Self.messages(host) == [SimpleTunnelMessage(identifier: id, body: .close(.all))] && host.ends == [.stopped(inTime: true)])
  }
}
