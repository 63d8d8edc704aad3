import FlowProtocol
import NetworkTypes
import SeededRandom
import Testing

/// SOCKS5 and CONNECT as machines over bytes.
@Suite struct ProxyConversationTests {
  private static func target(_ text: String) throws -> Endpoint { try #require(Endpoint(text)) }

  /// All steps for bytes that come in pieces of these lengths, again and again.
  private static func steps(_ bytes: [UInt8], _ lengths: [Int]) -> (steps: [ProxyConversation.Step], rest: ProxyConversation) {
    var conversation = ProxyConversation()
    var (steps, start, turn): ([ProxyConversation.Step], Int, Int) = ([], 0, 0)
    while start < bytes.count {
      let end = min(bytes.count, start + lengths[turn % lengths.count])
      steps += conversation.receive(Array(bytes[start..<end]))
      (start, turn) = (end, turn + 1)
    }
    return (steps, conversation)
  }

  private static let hello: [UInt8] = [5, 1, 0]
  private static func connect(_ address: [UInt8], port: UInt16 = 443) -> [UInt8] {
    hello + [5, 1, 0] + address + [UInt8(port >> 8), UInt8(port & 0xff)]
  }
  private static func name(_ text: String) -> [UInt8] { [3, UInt8(text.utf8.count)] + Array(text.utf8) }

  @Test("SOCKS5 connects by name, IPv4 and IPv6; the answer is that of RFC 1928, and what was sent ahead stays") func connects() throws {
    let addresses: [([UInt8], String)] = [
      (Self.name("git.corp.example"), "git.corp.example:443"), ([1, 192, 0, 2, 7], "192.0.2.7:443"),
      ([4, 0x20, 1, 0xd, 0xb8] + [UInt8](repeating: 0, count: 11) + [9], "[2001:db8::9]:443"), (Self.name("192.0.2.8"), "192.0.2.8:443"),
      (Self.name("2001:db8::8"), "[2001:db8::8]:443"), (Self.name("GIT.corp.Example."), "git.corp.example:443"),
    ]
    for (bytes, text) in addresses {
      var (steps, conversation) = Self.steps(Self.connect(bytes) + [1, 2, 3], [1000])
      #expect(steps == [.answer([5, 0]), .request(.stream(try Self.target(text)))])
      #expect(conversation.receive([4]) == [])
      let (answer, ahead) = conversation.accept()
      #expect(answer == [5, 0, 0, 1, 0, 0, 0, 0, 0, 0] && ahead == [1, 2, 3, 4])
      #expect(conversation.receive([5]) == [] && conversation.refuse(.general) == [])
    }
  }

  @Test("UDP ASSOCIATE has the client's port, if it says one, and is answered with the proxy's") func associates() throws {
    for (port, expected) in [(UInt16(0), UInt16?.none), (4711, 4711)] {
      var (steps, conversation) = Self.steps(
        Self.hello + [5, 3, 0, 1, 0, 0, 0, 0, UInt8(port >> 8), UInt8(port & 0xff)], [3])
      #expect(steps == [.answer([5, 0]), .request(.datagrams(port: expected))])
      let own = try #require(IPAddress("127.0.0.1"))
      #expect(conversation.accept(at: (own, 0x1234)).answer == [5, 0, 0, 1, 127, 0, 0, 1, 0x12, 0x34])
    }
  }

  @Test("each failure has its reply, in both dialects") func failures() throws {
    let replies: [FlowFailure: (UInt8, Int)] = [
      .general: (1, 500), .forbidden: (2, 403), .networkUnreachable: (3, 502), .hostUnreachable: (4, 502), .noSuchHost: (4, 502),
      .refused: (5, 502), .timedOut: (6, 504), .unsupportedCommand: (7, 405), .unsupportedAddress: (8, 400), .crowded: (1, 503),
      .unrouted: (2, 403), .malformed: (1, 400), .tooLong: (1, 431),
    ]
    #expect(replies.count == FlowFailure.allCases.count)
    for (failure, (reply, status)) in replies {
      var (_, socks) = Self.steps(Self.connect([1, 192, 0, 2, 7]), [100])
      #expect(socks.refuse(failure) == [5, reply, 0, 1, 0, 0, 0, 0, 0, 0])
      var (_, http) = Self.steps(Array("CONNECT a.example:443 HTTP/1.1\r\n\r\n".utf8), [100])
      let text = String(decoding: http.refuse(failure), as: UTF8.self)
      #expect(text.hasPrefix("HTTP/1.1 \(status) ") && text.contains("\r\nProxy-Status: roamward; error=") && text.hasSuffix("\n"))
      let body = text.split(separator: "\r\n\r\n").last ?? ""
      #expect(text.contains("\r\nContent-Length: \(body.utf8.count)\r\n") && text.contains("Allow: CONNECT") == (status == 405))
    }
  }

  @Test("a client without a dialect, a method or a place is refused precisely") func refusals() {
    let rejected = { (reply: UInt8) -> [UInt8] in [5, reply, 0, 1, 0, 0, 0, 0, 0, 0] }
    let cases: [([UInt8], [ProxyConversation.Step])] = [
      ([0], [.refusal([], .malformed)]), ([22, 3, 1], [.refusal([], .malformed)]),
      ([4, 1], [.refusal([0, 91, 0, 0, 0, 0, 0, 0], .malformed)]),
      ([5, 0], [.refusal([5, 0xff], .malformed)]), ([5, 2, 1, 2], [.refusal([5, 0xff], .malformed)]),
      (Self.hello + [5, 2], [.answer([5, 0]), .refusal(rejected(7), .unsupportedCommand)]),
      (Self.hello + [4], [.answer([5, 0]), .refusal(rejected(1), .malformed)]),
      (Self.hello + [5, 1, 0, 2], [.answer([5, 0]), .refusal(rejected(8), .unsupportedAddress)]),
      (Self.connect([1, 192, 0, 2, 7], port: 0), [.answer([5, 0]), .refusal(rejected(1), .malformed)]),
      (Self.connect(Self.name("")), [.answer([5, 0]), .refusal(rejected(4), .noSuchHost)]),
      (Self.connect(Self.name("a..b")), [.answer([5, 0]), .refusal(rejected(4), .noSuchHost)]),
      (Self.connect([3, 2, 0xff, 0]), [.answer([5, 0]), .refusal(rejected(4), .noSuchHost)]),
    ]
    for (bytes, expected) in cases {
      for length in [1, 2, 100] {
        let (steps, conversation) = Self.steps(bytes, [length])
        #expect(steps == expected, "\(bytes)")
        var ended = conversation
        #expect(ended.receive(Self.hello) == [])
      }
    }
  }

  @Test("CONNECT takes a host and a port; other requests are refused with their status") func http() throws {
    let status = { (head: String) -> String in
      let (steps, _) = Self.steps(Array(head.utf8), [7])
      switch steps.first {
      case .request(.stream(let endpoint))?: return endpoint.description
      case .refusal(let answer, _)?: return String(String(decoding: answer, as: UTF8.self).dropFirst(9).prefix(3))
      default: return "\(steps)"
      }
    }
    #expect(status("CONNECT git.corp.example:443 HTTP/1.1\r\nHost: x\r\n\r\n") == "git.corp.example:443")
    #expect(status("CONNECT [2001:db8::1]:22 HTTP/1.0\r\n\r\n") == "[2001:db8::1]:22")
    #expect(status("GET http://a.example/ HTTP/1.1\r\n\r\n") == "405" && status("OPTIONS * HTTP/1.1\r\n\r\n") == "405")
    let heads = [
      "CONNECT a.example HTTP/1.1", "CONNECT a.example:0 HTTP/1.1", "CONNECT  a.example:1 HTTP/1.1", "CONNECT a:1", "CONNECT a:1 HTTP/2",
    ]
    for head in heads {
      #expect(status(head + "\r\n\r\n") == "400", "\(head)")
    }
    #expect(status("CONNECT a.example:1 HTTP/1.1\r\nA: " + String(repeating: "b", count: 9000)) == "431")
    #expect(status("CONNECT a.example:1 HTTP/1.1\r\nA: b\n\r\r\n\r") == "[]")
    var (_, conversation) = Self.steps(Array("CONNECT a.example:1 HTTP/1.1\r\n\r\nahead".utf8), [100])
    let (answer, ahead) = conversation.accept()
    #expect(String(decoding: answer, as: UTF8.self) == "HTTP/1.1 200 Connection established\r\n\r\n" && ahead == Array("ahead".utf8))
  }

  @Test("every cut of a conversation into two and three pieces, and into single bytes, gives the same") func fragments() {
    let conversations = [
      Self.connect(Self.name("a.example")) + [9, 9], Self.hello + [5, 3, 0, 4] + [UInt8](repeating: 0, count: 18),
      Array("CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\nxy".utf8), Self.hello + [5, 1, 0, 7, 7],
      Array("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab".utf8),
    ]
    for bytes in conversations {
      let whole = Self.steps(bytes, [bytes.count]).steps
      #expect(Self.steps(bytes, [1]).steps == whole)
      for first in 1..<bytes.count {
        for second in 1...max(1, bytes.count - first) { #expect(Self.steps(bytes, [first, second, bytes.count]).steps == whole) }
      }
    }
  }

  @Test("random and mutated bytes never trap, and are answered once", arguments: [UInt64(1), 2, 3, 4]) func arbitrary(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let seeds = [
      Self.connect(Self.name("a.example")), Self.connect([1, 192, 0, 2, 7]), Self.hello + [5, 3, 0, 1, 0, 0, 0, 0, 0, 0],
      Array("CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n".utf8), [],
    ]
    for _ in 0..<20_000 {
      var bytes = random.pick(seeds)
      if bytes.isEmpty { bytes = (0..<Int(random.next() % 40)).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
      for _ in 0..<(random.next() % 4) where !bytes.isEmpty {
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: place)
        default: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
        }
      }
      let (steps, _) = Self.steps(bytes, [1 + Int(random.next() % 9)])
      let last = steps.filter { if case .answer = $0 { false } else { true } }
      #expect(last.count <= 1 && (last.isEmpty || steps.last == last.last))
    }
  }
}
