import GatewayCore
import GatewayLogin
import Glibc
import LoginProtocol
import NetworkTypes
import SeededRandom
import Testing

@Suite struct FrameTests {
  static let messages: [LoginFrame] =
    [
      ClientMessage.hello(hello), .hello(LoginHello(versions: 1...9, methods: [.token], device: "ü", publicKey: key)),
      .password(user: "alice", password: Array("correct horse".utf8)), .token(Array("rw1-abc".utf8)), .answer(.code, Array("123456".utf8)),
      .answer(.banner, []), .begin(.openID), .relay(versions: 1...3),
    ].map(\.frame)
    + [
      GatewayMessage.welcome(version: 1, methods: [.password, .token]), .more(.code, text: "Code?"), .done(grant),
      .failed(.later, retryAfter: 900), .visit(page), .relaying(version: 1),
      .done(SiteListTests.grant),
    ].map(\.frame)

  /// Reads a frame of either side; what it is, written again.
  private func read(_ frame: LoginFrame) throws(LoginFrameError) -> LoginFrame {
    frame.kind < 0x80 ? try ClientMessage(frame).frame : try GatewayMessage(frame).frame
  }

  @Test("every message is read as it was written, in pieces of any size", arguments: 1...20) func roundTrip(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let bytes = Self.messages.flatMap(\.bytes)
    var stream = LoginFrameStream()
    var frames: [LoginFrame] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = 1 + Int(random.next() % 40)
      frames += try stream.receive(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    #expect(frames == Self.messages)
    for frame in frames { #expect(try read(frame) == frame) }
  }

  @Test("the bytes are those of docs/wire-format.md") func bytes() {
    let frame = ClientMessage.password(user: "al", password: Array("pw".utf8)).frame
    #expect(frame.bytes == [0, 11, 2, 1, 0, 2, 0x61, 0x6c, 2, 0, 2, 0x70, 0x77])
    #expect(GatewayMessage.failed(.later, retryAfter: 300).frame.bytes == [0, 10, 0x84, 1, 0, 1, 2, 2, 0, 2, 1, 44])
  }

  @Test("pushed settings are read as they were written; with any other byte, or another seal, they are none") func push() throws {
    let seal: SettingsPush.Seal = { bytes in (0..<32).map { i in bytes.reduce(UInt8(i)) { $0 &* 31 &+ $1 } } }
    var sent = grant
    sent.gatewayAddresses = [try address("10.77.0.1"), try address("fd77::1")]
    let push = SettingsPush(number: 0x0102_0304_0506_0708, sent)
    let datagram = try #require(push.datagram(seal))
    #expect(datagram[2] == 0x86 && datagram.count <= SettingsPush.limit)
    #expect(datagram.dropLast(32).suffix(11) == [13, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8])
    #expect(SettingsPush(datagram, seal) == push)
    #expect(SettingsPush(datagram) { seal($0 + [0]) } == nil && SettingsPush(datagram) { _ in nil } == nil)
    for i in datagram.indices {
      var other = datagram
      other[i] ^= 1
      #expect(SettingsPush(other, seal) == nil)
    }
    // A right seal makes no message of what is none.
    for body in [[0, 0, 0x86], [0, 1, 0x86], [0, 9, 0x86, 13, 0, 8], Array(grant.frame(0x86).bytes), Array(grant.frame(0x83).bytes)]
      as [[UInt8]]
    {
      #expect(SettingsPush(body + (seal(body) ?? []), seal) == nil)
    }
    for count in 0..<80 { #expect(SettingsPush(Array(datagram.prefix(count)), seal) == nil) }
  }

  @Test("the end of a session is read as it was written; with any other byte, or another seal, it is none") func end() throws {
    let seal: SealedDatagram.Seal = { bytes in (0..<32).map { i in bytes.reduce(UInt8(i)) { $0 &* 31 &+ $1 } } }
    let end = SessionEnd(number: 0x0102_0304_0506_0708)
    let datagram = try #require(end.datagram(seal))
    #expect(datagram.dropLast(32) == [0, 12, 0x88, 1, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8])
    #expect(SessionEnd(datagram, seal) == end)
    #expect(SessionEnd(datagram) { seal($0 + [0]) } == nil && SessionEnd(datagram) { _ in nil } == nil)
    for i in datagram.indices {
      var other = datagram
      other[i] ^= 1
      #expect(SessionEnd(other, seal) == nil)
    }
    for count in 0..<datagram.count { #expect(SessionEnd(Array(datagram.prefix(count)), seal) == nil) }
    // A right seal makes no message of what is none.
    for body in [[0, 1, 0x88], [0, 11, 0x88, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0], [0, 12, 0x86, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1]] as [[UInt8]] {
      #expect(SessionEnd(body + (seal(body) ?? []), seal) == nil)
    }
  }

  @Test("the two processes of a gateway read what the other writes") func processes() throws {
    let name = try #require(GatewayName("alice"))
    let from = try address("192.0.2.7")
    let requests: [AuthRequest] = [
      .hello(trouble: nil), .hello(trouble: "no"), .credential(number: 70_000, name: name), .token(number: 1, hash: key),
      .code(number: 1, code: [0x31]), .setPassword(number: 1, hash: "$argon2id$"),
      .bind(number: 1, device: name, publicKey: key, factors: [.password, .code], source: from),
      .record(.lockedUser, name: "Älice", source: from), .ended(number: 9), .signIn(number: 3, source: from),
      .password(number: 4, password: [1, 0, 2], source: from), .promptAnswer(number: 4, value: []),
      .decoy(number: 4, source: from),
    ]
    for request in requests { #expect(try AuthRequest(LoginFrame(body: request.frame.bytes.dropFirst(2))) == request) }
    let account = LoginAccount(user: 1 << 40, token: 5, questions: [.code, .newPassword, .banner("Hm")])
    let replies: [AuthReply] = [
      .start(identity: String(repeating: "x", count: 5000), relayTo: nil), .start(identity: "x", relayTo: 51_820), .listener,
      .credential(number: 3, hash: "", account: nil, refusal: .unknownName),
      .credential(number: 3, hash: "$", account: account, refusal: nil), .answer(number: 1, .account(LoginAccount(user: 1))),
      .answer(number: 1, .accepted), .answer(number: 1, .refused(.wrongCode)), .answer(number: 1, .unsuitable("no")),
      .answer(number: 1, .bound(grant)), .answer(number: 1, .bound(SiteListTests.grant)), .answer(number: 1, .unbound),
      .answer(number: 1, .unavailable), .answer(number: 1, .busy),
      .offer([.password, .openID], isSlow: false), .offer([.password], isSlow: true), .remote(number: 2),
      .answer(number: 1, .prompt(text: "Token?", echo: true)), .answer(number: 1, .prompt(text: "", echo: false)),
      .answer(number: 1, .visit(page)),
      .answer(number: 1, .expired), .answer(number: 1, .link(name: "alice")), .answer(number: 1, .refused(.notLinked)),
    ]
    for reply in replies { #expect(try AuthReply(LoginFrame(body: reply.frame.bytes.dropFirst(2))) == reply) }
  }

  @Test("a client of a later version may send more fields and more methods") func later() throws {
    var frame = ClientMessage.hello(hello).frame
    frame.add(200, [1, 2, 3])
    #expect(try ClientMessage(frame) == .hello(hello))
    var methods = LoginFrame(1)
    methods.add(1, [1, 9])
    methods.add(2, [1, 77, 99])
    methods.add(3, "d")
    methods.add(4, key)
    #expect(try ClientMessage(methods) == .hello(LoginHello(versions: 1...9, methods: [.password], device: "d", publicKey: key)))
  }

  @Test(
    "wrong frames are refused with their reason",
    arguments: [
      ([0, 0], LoginFrameError.empty), ([0xff, 0xff, 1], .tooLong), ([0, 2, 1, 1], .truncated), ([0, 4, 1, 1, 0, 9], .truncated),
      ([0, 7, 1, 2, 0, 0, 2, 0, 0], .order), ([0, 7, 1, 2, 0, 0, 1, 0, 0], .order), ([0, 1, 9], .kind), ([0, 1, 1], .field),
      ([0, 8, 4, 1, 0, 1, 99, 2, 0, 0], .field),
    ] as [([UInt8], LoginFrameError)])
  func wrong(bytes: [UInt8], error: LoginFrameError) {
    #expect(throws: error) {
      var stream = LoginFrameStream()
      for frame in try stream.receive(bytes) { _ = try ClientMessage(frame) }
    }
  }

  @Test("no bytes crash the reader, or make it keep more than a frame; what it reads, it writes again") func fuzz() {
    let rounds = getenv("LOGIN_FUZZ").flatMap { Int(String(cString: $0)) } ?? 100_000
    var random = SplitMix64(seed: 20)
    var read = 0
    for _ in 0..<rounds {
      var bytes = random.pick(Self.messages).bytes
      if random.chance(0.2) { bytes = (0..<Int(random.next() % 40)).map { _ in UInt8(random.next() & 0xff) } }
      for _ in 0..<(random.next() % 3) where !bytes.isEmpty {
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[place] = UInt8(random.next() & 0xff)
        case 1: bytes.remove(at: place)
        default: bytes.insert(UInt8(random.next() & 0xff), at: place)
        }
      }
      var stream = LoginFrameStream()
      guard let frames = try? stream.receive(bytes) else { continue }
      for frame in frames {
        guard let again = try? self.read(frame) else { continue }
        // The written frame reads as the same.
        if (try? self.read(again)) != again { Issue.record("\(bytes) is read as \(frame), and written as \(again)") }
        read += 1
      }
    }
    #expect(read > rounds / 10)
  }
}
