import BestVPN
import JSON
import NetworkTypes
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting
import SeededRandom
import Testing

@Suite struct BestVPNTests {
  static let key = [UInt8](0..<32)
  static let nonce = [UInt8](0..<12)

  /// Made with Python's cryptography and with libsodium, which agree.
  static let vectors: [(BestVPNCodec.Message, String)] = [
    (
      .authenticate(login: "alice", password: "s3cret"),
      "01000102030405060708090a0bf2d9646f4e7ecb628da15e9ff17e6b41e552c2862207dad694f30dff57b3955f9ee558d19b69dca6a7e9d7883a7199326c50470b7f"
    ),
    (.authenticated(true), "02000102030405060708090a0bf2d96173665c877ac3f14a96e59bf14a7ba9a199ae09109b692f53cd15"),
    (.data(ping), "03000102030405060708090a0bccfb0854440de540f7823ff392140e61c379b2e659745a46e6972fc5cb068d3408d5ae10b11c7c91cf902e79"),
  ]

  @Test("vectors of other implementations are written and read") func vectors() throws {
    let codec = try #require(BestVPNCodec(key: Self.key))
    for (message, hex) in Self.vectors {
      #expect(codec.seal(message, nonce: Self.nonce) == bytes(hex))
      #expect(try codec.open(bytes(hex)) == message)
      #expect(try codec.open(codec.seal(message)) == message)
    }
    #expect(codec.seal(.data(ping)) != codec.seal(.data(ping)))
    #expect(BestVPNCodec(key: []) == nil && BestVPNCodec(key: [UInt8](repeating: 0, count: 33)) == nil)
  }

  @Test("JSON as Apple's encoder writes it is read: other order, escaped slash, text that is not ASCII") func foreignJSON() throws {
    let codec = try #require(BestVPNCodec(key: Self.key))
    // The content of `data` can be put under another code: the code is not authenticated.
    func relabelled(_ text: String, _ code: UInt8) throws -> BestVPNCodec.Message {
      try codec.open([code] + codec.seal(.data(Array(text.utf8))).dropFirst())
    }
    #expect(try relabelled(#"{"password":"a\/b","login":"ü"}"#, 1) == .authenticate(login: "ü", password: "a/b"))
    #expect(throws: BestVPNCodec.Refusal.malformed) { try relabelled(#"{"isOK":1}"#, 2) }
    #expect(throws: BestVPNCodec.Refusal.malformed) { try relabelled(#"{"login":"a"}"#, 1) }
    #expect(throws: BestVPNCodec.Refusal.malformed) { try relabelled("", 2) }
  }

  @Test("lengths, codes and changed bytes are refused, each with its reason") func refusals() throws {
    let codec = try #require(BestVPNCodec(key: Self.key))
    let datagram = codec.seal(.authenticated(true), nonce: Self.nonce)
    for count in 0..<29 { #expect(throws: BestVPNCodec.Refusal.length(count)) { try codec.open(Array(datagram.prefix(count))) } }
    for code in UInt8.min...UInt8.max where !(1...3).contains(code) {
      #expect(throws: BestVPNCodec.Refusal.unknownCode(code)) { try codec.open([code] + datagram.dropFirst()) }
    }
    for place in 1..<datagram.count {
      var changed = datagram
      changed[place] ^= 1
      #expect(throws: BestVPNCodec.Refusal.notAuthentic) { try codec.open(changed) }
    }
  }

  @Test("any datagram gives a message or an error", arguments: [UInt64(1), 2]) func fuzz(seed: UInt64) throws {
    let codec = try #require(BestVPNCodec(key: Self.key))
    var random = SplitMix64(seed: seed)
    var opened = 0
    for round in 0..<fuzzCount {
      let content = (0..<Int(random.next() % 64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      var datagram = round % 2 == 0 ? [1 + UInt8(round % 3)] + codec.seal(.data(content), nonce: Self.nonce).dropFirst() : content
      if round % 4 == 2 { datagram[Int(random.next() % UInt64(datagram.count))] ^= UInt8(truncatingIfNeeded: random.next()) }
      if (try? codec.open(datagram)) != nil { opened += 1 }
    }
    #expect(opened > fuzzCount / 20, "seed \(seed)")
  }

  // MARK: The provider

  static let options: JSON = ["server": "vpn.example:9999", "login": "alice", "address": "10.9.0.2/24", "routes": ["10.9.0.0/24"]]
  static let credentials: [Word: [UInt8]] = ["key": key, "password": Array("s3cret".utf8)]

  static func started(_ addresses: [UInt32] = [0xc633_6401]) throws -> MemoryHost<BestVPN> {
    let host = MemoryHost(BestVPN.self)
    host.names[try #require(DomainName("vpn.example"))] = addresses.map { IPAddress(v4: $0) }
    host.start(options, credentials: credentials)
    return host
  }

  static func code(_ host: MemoryHost<BestVPN>) -> Word? { if case .failed(let failure) = host.ends.last { failure.code } else { nil } }

  @Test("signs in, and carries packets both ways; nothing is sent in the clear") func packets() throws {
    let (host, codec) = (try Self.started(), try #require(BestVPNCodec(key: Self.key)))
    let questions = try host.sockets[0].takeSent().map { try codec.open($0) }
    #expect(questions == [.authenticate(login: "alice", password: "s3cret")] && host.state == .starting)
    host.sockets[0].deliver([codec.seal(.authenticated(true)), codec.seal(.authenticated(true))])
    #expect(host.state == .connected && host.settings?.overhead == 77)
    let packet = try #require(pingPacket)
    host.flow?.deliver([packet, packet])
    let sent = host.sockets[0].takeSent()
    #expect(try sent.map { try codec.open($0) } == [.data(ping), .data(ping)] && sent.allSatisfy { $0.count == 57 })
    host.sockets[0].deliver([codec.seal(.data(ping)), codec.seal(.data([0x10])), [3], sent[0]])
    #expect(host.flow?.takeWritten() == [packet, packet] && host.flow?.droppedPackets == 1 && host.provider.refusedDatagrams == 1)
  }

  @Test("a silent server is asked again, doubted within 25 s and given up within 60 s; an answer in between reconnects") func silence()
    throws
  {
    let (host, codec) = (try Self.started(), try #require(BestVPNCodec(key: Self.key)))
    host.sockets[0].deliver([codec.seal(.authenticated(true))])
    host.advance(by: .seconds(11))
    #expect(try host.sockets[0].takeSent().last.map { try codec.open($0) } == .authenticate(login: "alice", password: "s3cret"))
    host.sockets[0].deliver([codec.seal(.authenticated(true))])
    host.advance(by: .seconds(18))
    #expect(host.state == .connected)
    host.advance(by: .seconds(2))
    #expect(host.state == .reasserting && host.reassertion == "peer-timeout")
    host.sockets[0].deliver([codec.seal(.data(ping))])
    #expect(host.state == .connected && host.violations.isEmpty)
    host.advance(by: .seconds(59))
    #expect(Self.code(host) == "peer-timeout" && host.violations.isEmpty)
  }

  @Test("another network gets another socket, and packets pass there") func roams() throws {
    let (host, codec) = (try Self.started(), try #require(BestVPNCodec(key: Self.key)))
    host.sockets[0].deliver([codec.seal(.authenticated(true))])
    host.networkChanged(nil)
    #expect(host.state == .reasserting && host.reassertion == "no-network")
    host.networkChanged(NetworkPath(interface: "wwan0", kind: .cellular))
    #expect(host.sockets.count == 2 && host.sockets[0].isClosed && host.sockets[1].remote == Endpoint("198.51.100.1:9999"))
    #expect(try host.sockets[1].takeSent().map { try codec.open($0) } == [.authenticate(login: "alice", password: "s3cret")])
    host.sockets[1].deliver([codec.seal(.authenticated(true))])
    #expect(host.state == .connected && host.violations.isEmpty)
    host.flow?.deliver([try #require(pingPacket)])
    #expect(try host.sockets[1].takeSent().map { try codec.open($0) } == [.data(ping)])
  }

  @Test("good, bad and silent are three results; a question that is lost is repeated") func results() throws {
    let codec = try #require(BestVPNCodec(key: Self.key))
    let bad = try Self.started()
    bad.sockets[0].deliver([codec.seal(.authenticated(false))])
    #expect(Self.code(bad) == "auth-failed" && bad.ends.count == 1 && bad.state == .idle && bad.sockets[0].isClosed)
    let silent = try Self.started()
    silent.advance(by: .seconds(9))
    #expect(silent.sockets[0].sent.count == 5 && silent.state == .starting)
    silent.advance(by: .seconds(1))
    #expect(Self.code(silent) == "connect-timeout")
    let late = try Self.started()
    late.advance(by: .seconds(8))
    late.sockets[0].deliver([codec.seal(.authenticated(true))])
    late.advance(by: .seconds(9))
    #expect(late.state == .connected && late.sockets[0].sent.count == 5)
  }

  @Test("a question that is sent back, and an answer with another key, are no answers") func reflection() throws {
    let host = try Self.started()
    let other = try #require(BestVPNCodec(key: [UInt8](repeating: 9, count: 32)))
    host.sockets[0].deliver([host.sockets[0].sent[0], other.seal(.authenticated(true))])
    #expect(host.state == .starting && host.provider.refusedDatagrams == 2)
  }

  @Test("if the first address is dead, the second is used") func addresses() throws {
    let (host, codec) = (try Self.started([0xc633_6401, 0xc633_6402]), try #require(BestVPNCodec(key: Self.key)))
    host.advance(by: .seconds(3))
    #expect(host.sockets.count == 2 && host.sockets[0].isClosed && host.sockets[1].remote == Endpoint("198.51.100.2:9999"))
    host.sockets[1].deliver([codec.seal(.authenticated(true))])
    #expect(host.state == .connected && host.settings?.remoteAddress == IPAddress("198.51.100.2"))
  }

  @Test("without a key, or with one of another length, it does not start: there is no default") func keys() {
    for credentials: [Word: [UInt8]] in [["password": [1]], ["key": [1, 2], "password": [1]], ["key": Self.key]] {
      let host = MemoryHost(BestVPN.self)
      host.start(["server": "192.0.2.1:1", "login": "a", "address": "10.9.0.2/24"], credentials: credentials)
      #expect(Self.code(host) == (credentials["password"] == nil ? "no-password" : "invalid-key") && host.sockets.isEmpty)
    }
  }
}
