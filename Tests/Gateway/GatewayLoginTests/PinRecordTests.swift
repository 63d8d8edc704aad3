import LoginProtocol
import NetworkTypes
import SeededRandom
import Testing

/// The record of DNS with a gateway's pin, and the decision about a pin that DNS confirms, or contradicts, or does not know.
@Suite("A pin in DNS") struct PinRecordTests {
  static let pin = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
  /// SHA-256 of nothing, as the pin above.
  static let digits = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  static let other = "sha256//MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI="

  private func server(_ text: String) throws -> Endpoint { try #require(Endpoint(text)) }
  private func pins(_ texts: String...) throws -> [GatewayPin] { try texts.map { try #require(GatewayPin($0)) } }

  @Test("the record has the port, the name and the pin's bytes; a gateway without a name has none") func record() throws {
    let pin = try #require(GatewayPin(Self.pin))
    #expect(
      PinRecord.line(for: try server("vpn.example.com:51820"), pin) == "_51820._tcp.vpn.example.com. IN TLSA 3 1 1 \(Self.digits)")
    #expect(PinRecord.name(for: try server("VPN.example:443"))?.text == "_443._tcp.vpn.example")
    for text in ["192.0.2.1:51820", "[2001:db8::1]:51820", String(repeating: "abcdefg.", count: 31) + "a:51820"] {
      #expect(PinRecord.line(for: try server(text), pin) == nil, "\(text)")
    }
    let hash = try #require(bytes(fromHex: Self.digits[...]))
    #expect(PinRecord.pin(usage: 3, selector: 1, matchingType: 1, association: hash) == pin)
    for (usage, selector, matchingType) in [(0, 1, 1), (1, 1, 1), (2, 1, 1), (3, 0, 1), (3, 1, 0), (3, 1, 2), (255, 1, 1)]
      as [(UInt8, UInt8, UInt8)]
    {
      #expect(PinRecord.pin(usage: usage, selector: selector, matchingType: matchingType, association: hash) == nil)
    }
    for length in [0, 31, 33, 64] {
      #expect(PinRecord.pin(usage: 3, selector: 1, matchingType: 1, association: [UInt8](repeating: 1, count: length)) == nil)
    }
  }

  @Test("a reading is one line, and no other bytes are one") func readings() throws {
    let all: [RecordReading] = [
      .answer(pins: [], others: 0, isAuthenticated: false), .answer(pins: try pins(Self.pin, Self.other), others: 3, isAuthenticated: true),
      .answer(pins: Array(repeating: try pins(Self.pin)[0], count: RecordReading.pinLimit), others: 1000, isAuthenticated: true),
      .failed("it does not answer"),
    ]
    for reading in all { #expect(RecordReading(Array((reading.line + "\n").utf8)) == reading) }
    for text in [
      "", "\n", "failed\n", "answer authenticated 0", "answer authenticated\n", "answer authenticated 0 \n", "answer validated 0\n",
      "answer authenticated 00\n", "answer authenticated +1\n", "answer authenticated 1001\n", "answer authenticated 1 x\n",
      "answer authenticated 1 \(Self.pin) \n", "answer authenticated 0\nfailed x\n", "failed \u{1b}[1m\n",
      "answer authenticated 0\(String(repeating: " " + Self.pin, count: RecordReading.pinLimit + 1))\n",
    ] {
      #expect(RecordReading(Array(text.utf8)) == nil, "\(text)")
    }
  }

  @Test("a mutated reading is none, or the one that it is written as", arguments: 1...20) func mutations(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let line = RecordReading.answer(pins: try pins(Self.pin, Self.other), others: 12, isAuthenticated: true).line + "\n"
    for _ in 0..<500 {
      var bytes = Array(line.utf8)
      for _ in 0...random.next() % 3 {
        let place = Int(random.next() % UInt64(bytes.count))
        if random.chance(0.5) { bytes[place] = UInt8(random.next() % 128) } else { bytes.remove(at: place) }
      }
      guard let reading = RecordReading(bytes) else { continue }
      #expect(reading.line + "\n" == String(decoding: bytes, as: UTF8.self))
    }
  }

  @Test(
    "a name server's word counts on this machine, or with `trust-ad`; that of roamward-names never does",
    arguments: [
      ("", "127.0.0.1", true), ("nameserver 127.0.0.53\noptions edns0\n", "127.0.0.53", true), ("nameserver ::1\n", "::1", true),
      ("nameserver 192.0.2.53\n", "192.0.2.53", false),
      ("nameserver 192.0.2.53\nnameserver 2001:db8::53\n", "192.0.2.53 2001:db8::53", false),
      // One that counts is enough, and no other one is asked.
      ("nameserver 192.0.2.53\nnameserver 127.0.0.1\n", "127.0.0.1", true),
      ("nameserver 192.0.2.53\noptions trust-ad\n", "192.0.2.53", true),
      ("options edns0 trust-ad timeout:1\nnameserver 192.0.2.53\nnameserver 127.0.0.1\n", "192.0.2.53 127.0.0.1", true),
      ("# options trust-ad\nnameserver 192.0.2.53\n", "192.0.2.53", false),
      (" options trust-ad\nnameserver 192.0.2.53\n", "192.0.2.53", false),
      ("options trust-adx no-trust-ad\nnameserver 192.0.2.53\n", "192.0.2.53", false),
      ("search trust-ad\nnameserver 192.0.2.53\n", "192.0.2.53", false),
      ("nameserver 128.0.0.1\n", "128.0.0.1", false), ("nameserver ::ffff:127.0.0.1\n", "::ffff:127.0.0.1", false),
      ("nameserver 127.82.0.53\n", "127.82.0.53", false), ("nameserver 127.82.0.53\noptions trust-ad\n", "127.82.0.53", false),
      ("nameserver 127.82.0.53\nnameserver 127.0.0.1\n", "127.0.0.1", true),
      // glibc reads three.
      ("nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 127.0.0.1\n", "192.0.2.1 192.0.2.2 192.0.2.3", false),
    ])
  func trust(text: String, addresses: String, isTrusted: Bool) throws {
    let asked = AskedNameServers(resolvConf: text)
    #expect(asked.addresses == addresses.split(separator: " ").compactMap { IPAddress(String($0)) }, "\(asked)")
    #expect(asked.isTrusted == isTrusted)
  }

  /// The result of a case of the table, for a pin that the gateway shows.
  private enum Expected {
    case confirmed, refused
    /// A person is asked, with a note that has these words, or without one.
    case asked(String?)
  }

  @Test("the table of decisions: what is validated, by a name server whose word counts, decides; nothing else does") func table() throws {
    let (right, wrong) = (try pins(Self.pin), try pins(Self.other))
    let name = try #require(DomainName("_51820._tcp.vpn.example.com"))
    let (server, shown) = (try server("vpn.example.com:51820"), right[0])
    func read(_ pins: [GatewayPin], others: Int = 0, _ isAuthenticated: Bool) -> RecordReading {
      .answer(pins: pins, others: others, isAuthenticated: isAuthenticated)
    }
    let rows: [(RecordReading, trusted: Bool, Expected)] = [
      (read(right, true), true, .confirmed), (read(wrong + right, true), true, .confirmed),
      (read(right, others: 2, true), true, .confirmed),
      (read(wrong, true), true, .refused), (read(wrong, others: 2, true), true, .refused),
      (read([], others: 1, true), true, .asked("not of the kind 3 1 1")),
      (read([], true), true, .asked(nil)), (read([], false), true, .asked(nil)), (read([], true), false, .asked(nil)),
      (read(right, false), true, .asked("it is not signed, or the name server 127.0.0.1 does not validate")),
      (read(wrong, false), true, .asked("it is not signed")), (read([], others: 1, false), true, .asked("it is not signed")),
      (read(right, true), false, .asked("not on this machine")), (read(wrong, true), false, .asked("not on this machine")),
      (read(right, false), false, .asked("not on this machine")), (read([], others: 1, true), false, .asked("not on this machine")),
      (.failed("it does not answer"), true, .asked("not known: it does not answer")), (.failed("it does not answer"), false, .asked(nil)),
    ]
    for (reading, isTrusted, expected) in rows {
      let address = try #require(IPAddress(isTrusted ? "127.0.0.1" : "192.0.2.53"))
      let signed = SignedPins(reading, of: name, from: address, isTrusted: isTrusted)
      let judgement = signed.judgement(of: shown, of: server)
      let given = signed.note(on: shown, of: server, isGiven: true)
      let known = signed.note(on: shown, of: server, isGiven: false)
      switch (expected, judgement) {
      case (.confirmed, .confirmed), (.asked(nil), .open(note: nil)): #expect(given == nil && known == nil)
      case (.asked(let words?), .open(let note?)): #expect(note.contains(words) && given == nil && known == nil, "\(note)")
      case (.refused, .refused(let reason)):
        // Both pins, and both are named where the pin is the person's or the policy's.
        #expect(reason.contains(Self.pin) && reason.contains(Self.other) && reason.contains("login show --tlsa"))
        #expect(given?.contains(Self.other) == true && given?.hasPrefix("the pin that you gave counts") == true)
        #expect(known?.hasSuffix("`roamward login vpn.example.com:51820 --pin \(Self.other)`") == true)
      default: Issue.record("\(reading), trusted \(isTrusted): \(judgement)")
      }
    }
    let own = SignedPins(read(right, true), of: name, from: try #require(IPAddress("127.82.0.53")), isTrusted: false)
    guard case .none(let note?) = own else {
      Issue.record("\(own)")
      return
    }
    #expect(note.contains("roamward-names"))
  }
}
