import NetworkTypes
import ProbeProtocol
import SeededRandom
import Testing

@Suite("Messages of the probes' process")
struct ProbeMessageTests {
  private static let address = IPAddress(v4: 0xc000_0201)
  private static let other = IPAddress(family: .v6, high: 0x2001_0db8_0000_0000, low: 1)

  private static let names = [DomainName("vpn.example")].compactMap { $0 }

  static let toHelper: [AgentMessage] = [
    .errand(1, .lookUp(LookUp(names[0], servers: [Destination(address, port: 53), Destination(other, port: 5353)]))),
    .errand(
      .max,
      .transfer(
        Transfer(
          url: "https://beacon.example:8443/a?b=\u{e4}", addresses: [address, other], pins: ["sha256//AAAA="], accept: "text/html",
          bodyLimit: ProbeLimits.body))),
    .errand(2, .transfer(Transfer(url: "http://[2001:db8::1]/", addresses: [other]))),
    .cancel(0), .socket(wish: 7, trouble: nil), .socket(wish: 8, trouble: "connect to 192.0.2.1: \u{7}no \"way\""),
  ]

  static let toAgent: [HelperMessage] = [
    .hello(trouble: nil), .hello(trouble: "confine system calls: Invalid argument"),
    .wish(SocketWish(errand: 1, number: 2, transport: .tcp, destination: Destination(other, port: 443))),
    .wish(SocketWish(errand: .max, number: .max, transport: .udp, destination: Destination(address, port: 53))),
    .answer(1, .addresses([address, other])), .answer(1, .noSuchName), .answer(1, .noAddress), .answer(1, .silence),
    .answer(1, .failed(reason: "x")), .answer(2, .response(status: 511, body: Array(0...255))),
    .answer(2, .response(status: 204, body: [])),
    .answer(2, .impostor(reason: "certificate")), .answer(2, .unanswered(reason: "")), .answer(2, .unsent(reason: "y")),
    .answer(3, .cancelled),
  ]

  @Test("each is read as it was written", arguments: toHelper)
  func roundTrip(message: AgentMessage) throws { #expect(try AgentMessage(message.bytes) == message) }

  @Test("each of the helper's is read as it was written", arguments: toAgent)
  func helpersRoundTrip(message: HelperMessage) throws { #expect(try HelperMessage(message.bytes) == message) }

  @Test("what goes beyond the bounds is cut off by who writes, and refused or cut off by who reads")
  func bounds() throws {
    let many = (0..<100).map { IPAddress(v4: 0xc000_0200 + $0) }
    #expect(try HelperMessage(HelperMessage.answer(1, .addresses(many)).bytes) == .answer(1, .addresses(Array(many.prefix(64)))))
    let long = String(repeating: "\u{1f600}", count: 10_000)
    guard case .answer(1, .failed(let reason)) = try HelperMessage(HelperMessage.answer(1, .failed(reason: long)).bytes) else {
      return #expect(Bool(false))
    }
    #expect((ProbeLimits.reason - 8...ProbeLimits.reason).contains(reason.utf8.count) && long.hasPrefix(reason))
    let body = HelperMessage.answer(1, .response(status: 200, body: Array(repeating: 1, count: 20_000)))
    #expect(try HelperMessage(body.bytes) == .answer(1, .response(status: 200, body: Array(repeating: 1, count: ProbeLimits.body))))
    let refused = [
      #"{"version":1,"message":"answer","id":1,"answer":"response","status":99,"body":""}"#,
      #"{"version":1,"message":"answer","id":1,"answer":"response","status":1000,"body":""}"#,
      #"{"version":1,"message":"answer","id":1,"answer":"response","status":200,"body":"0"}"#,
      #"{"version":1,"message":"answer","id":1,"answer":"response","status":200,"body":"\#(String(repeating: "00", count: 16_385))"}"#,
      #"{"version":1,"message":"answer","id":-1,"answer":"cancelled"}"#,
      #"{"version":1,"message":"answer","id":4294967296,"answer":"cancelled"}"#,
      #"{"version":1,"message":"answer","id":1,"answer":"addresses","addresses":[]}"#,
      #"{"version":1,"message":"answer","id":1,"answer":"addresses","addresses":["fe80::1%lo"]}"#,
      #"{"version":1,"message":"answer","id":1,"answer":"addresses","addresses":[\#(many.map { "\"\($0)\"" }.joined(separator: ","))]}"#,
      #"{"version":1,"message":"answer","id":1,"answer":"whatever"}"#,
      #"{"version":1,"message":"wish","id":1,"wish":1,"transport":"icmp","destination":{"address":"192.0.2.1","port":1}}"#,
      #"{"version":1,"message":"wish","id":1,"wish":1,"transport":"tcp","destination":{"address":"192.0.2.1","port":0}}"#,
      #"{"version":1,"message":"wish","id":1,"wish":1,"transport":"tcp","destination":{"address":"192.0.2.1","port":65536}}"#,
      #"{"version":2,"message":"hello","trouble":null}"#, #"{"message":"hello"}"#, #"{"version":1}"#,
      #"{"version":1,"message":"cancel","id":1}"#,
      "[]", "null", "", "{",
    ]
    for text in refused { #expect(throws: ProbeMessageError.self, "\(text)") { try HelperMessage(Array(text.utf8)) } }
  }

  @Test("any bytes, and 40,000 mutations of messages, give a value or an error, and a value is written as it is read")
  func mutations() throws {
    var random = SplitMix64(seed: 20_261_122)
    let samples = Self.toHelper.map(\.bytes) + Self.toAgent.map(\.bytes)
    var (read, refused) = (0, 0)
    for round in 0..<40_000 {
      var bytes = random.pick(samples)
      if round % 20 == 0 { bytes = (0..<Int(random.next() % 80)).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
      for _ in 0..<Int(random.next() % 4) where !bytes.isEmpty {
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 4 {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(random.pick(Array("0129-\"{}[],:eE\\u".utf8)), at: place)
        default: bytes.replaceSubrange(place..., with: random.pick(samples).suffix(bytes.count - place))
        }
      }
      var isMessage = false
      if let message = try? AgentMessage(bytes) {
        isMessage = true
        #expect(try AgentMessage(message.bytes) == message)
      }
      if let message = try? HelperMessage(bytes) {
        isMessage = true
        #expect(try HelperMessage(message.bytes) == message)
      }
      if isMessage { read += 1 } else { refused += 1 }
    }
    // Both ways are gone.
    #expect(read > 1000 && refused > 1000, "\(read) read, \(refused) refused")
  }
}
