import GatewayLogin
import Glibc
import LoginProtocol
import NetworkTypes
import SeededRandom
import Testing

@Suite("Frames of a relay") struct RelayFrameTests {
  private static let datagrams: [[UInt8]] = [
    [1, 0, 0, 0] + [UInt8](repeating: 9, count: 144), [2, 0, 0, 0] + [UInt8](repeating: 8, count: 88),
    [4, 0, 0, 0] + [UInt8](repeating: 7, count: 28), [4, 0, 0, 0] + [UInt8](repeating: 6, count: 16_380),
    [3, 0, 0, 0] + [UInt8](repeating: 5, count: 60),
  ]

  private static let bytes = datagrams.reduce(into: [UInt8]()) { RelayFrame.append($1, to: &$0) }

  @Test("the bytes are those of docs/wire-format.md") func format() {
    var bytes: [UInt8] = []
    #expect(RelayFrame.append([4, 0, 0, 0] + [UInt8](repeating: 1, count: 28), to: &bytes))
    #expect(bytes == [0, 32, 4, 0, 0, 0] + [UInt8](repeating: 1, count: 28))
    #expect(ClientMessage.relay(versions: 1...1).frame.bytes == [0, 6, 6, 1, 0, 2, 1, 1])
    #expect(GatewayMessage.relaying(version: 1).frame.bytes == [0, 5, 0x85, 1, 0, 1, 1])
  }

  @Test("datagrams are read as they were written, in pieces of any size", arguments: 1...20) func roundTrip(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var stream = RelayStream()
    var read: [[UInt8]] = []
    var rest = Self.bytes[...]
    while !rest.isEmpty {
      let count = 1 + Int(random.next() % (seed < 10 ? 3000 : 70))
      read += try stream.receive(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    #expect(read == Self.datagrams)
  }

  @Test(
    "what is no message of WireGuard is not written, and ends the reading",
    arguments: [
      ([0, 0], RelayFrameError.length), ([0, 31], .length), ([0x40, 1], .length), ([0xff, 0xff], .length),
      ([0, 32, 5, 0, 0, 0] + [UInt8](repeating: 0, count: 28), .kind), ([0, 32, 1, 0, 0, 1] + [UInt8](repeating: 0, count: 28), .kind),
      ([0, 32, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 28), .kind),
    ] as [([UInt8], RelayFrameError)])
  func wrong(bytes: [UInt8], error: RelayFrameError) {
    var stream = RelayStream()
    #expect(throws: error) { _ = try stream.receive(bytes) }
    var written: [UInt8] = []
    #expect(!RelayFrame.append(Array(bytes.dropFirst(2)), to: &written) && written.isEmpty)
  }

  @Test("the answer to RELAY is taken from bytes of another format that follow it") func first() throws {
    var stream = LoginFrameStream()
    let bytes = GatewayMessage.relaying(version: 1).frame.bytes + Self.bytes
    #expect(try stream.receiveFirst(bytes.prefix(3)) == nil)
    let (frame, rest) = try #require(try stream.receiveFirst(bytes.dropFirst(3)))
    #expect(try GatewayMessage(frame) == .relaying(version: 1))
    var relayed = RelayStream()
    #expect(try relayed.receive(rest) == Self.datagrams)
  }

  @Test("no bytes crash the reader; what it reads is what was written") func fuzz() {
    let rounds = getenv("LOGIN_FUZZ").flatMap { Int(String(cString: $0)) } ?? 20_000
    var random = SplitMix64(seed: 43)
    var read = 0
    for _ in 0..<rounds {
      var bytes: [UInt8] = []
      for _ in 0..<(1 + random.next() % 3) { RelayFrame.append(random.pick(Array(Self.datagrams.prefix(3))), to: &bytes) }
      if random.chance(0.2) { bytes = (0..<Int(random.next() % 80)).map { _ in UInt8(random.next() & 7) } }
      for _ in 0..<(random.next() % 3) where !bytes.isEmpty {
        let index = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[index] = UInt8(random.next() & 0xff)
        case 1: bytes.remove(at: index)
        default: bytes.insert(UInt8(random.next() & 0xff), at: index)
        }
      }
      var stream = RelayStream()
      guard let datagrams = try? stream.receive(bytes) else { continue }
      read += datagrams.count
      var again: [UInt8] = []
      for datagram in datagrams { RelayFrame.append(datagram, to: &again) }
      if !bytes.starts(with: again) { Issue.record("\(bytes) is read as \(datagrams)") }
    }
    #expect(read > rounds / 4)
  }
}

@Suite("The relays of a gateway") struct RelayTableTests {
  private let now = Moment(nanoseconds: 1_000_000_000_000)

  private func source(_ number: Int) throws -> IPAddress { try #require(IPAddress("192.0.\(number >> 8).\(number & 255)")) }

  @Test("strangers have few, of a place and of all, and the oldest silent one goes; a proven device does not count among them")
  func bounds() throws {
    var table = RelayTable()
    for number in 0..<RelayTable.strangersOfPlace { #expect(try table.open(UInt32(number), from: source(1), at: now)) }
    table.heard(0, at: now)
    #expect(try table.open(900, from: source(1), at: now) && table.takeGone() == [1])
    table.answered(0, by: .transport)
    table.answered(0, by: .initiation)
    table.answered(0, by: .cookieReply)
    #expect(try table.open(901, from: source(1), at: now) && table.takeGone() == [2])
    table.answered(0, by: .response)
    #expect(try table.open(902, from: source(1), at: now) && table.takeGone() == [])
    var number: UInt32 = 1000
    while table.unproven < RelayTable.strangers {
      #expect(try table.open(number, from: source(Int(number)), at: now))
      number += 1
    }
    #expect(try table.open(number, from: source(7), at: now) && table.takeGone().count == 1 && table.unproven == RelayTable.strangers)
    table.close(number)
    #expect(try table.open(number, from: source(7), at: now) && table.takeGone() == [] && table.unproven == RelayTable.strangers)
  }

  @Test("a place has a bounded number of devices; of all of them, the fullest network gives way") func capacity() throws {
    var table = RelayTable()
    var number: UInt32 = 0
    for home in 0..<10 where table.count < RelayTable.devices {
      for _ in 0..<RelayTable.capacityOfPlace where table.count < RelayTable.devices {
        number += 1
        #expect(try table.open(number, from: source(256 * home), at: now))
        table.answered(number, by: .response)
      }
      if table.count < RelayTable.devices { #expect(try !table.open(9999, from: source(256 * home), at: now)) }
    }
    #expect(table.count == RelayTable.devices && table.unproven == 0 && table.takeGone() == [])
    #expect(try table.open(9999, from: source(99), at: now) && table.takeGone() == [])
    table.answered(9999, by: .response)
    // The first network's; the last of them is not full.
    #expect(table.takeGone() == [1] && table.count == RelayTable.devices)
    table.close(1)
    table.close(2)
    #expect(try table.count == RelayTable.devices - 1 && table.open(9998, from: source(0), at: now))
  }

  @Test("a stranger has seconds; a device is closed when it is silent, or takes nothing") func times() throws {
    var table = RelayTable()
    for number in 1...4 as ClosedRange<UInt32> { #expect(try table.open(number, from: source(1), at: now)) }
    for number in 2...4 as ClosedRange<UInt32> { table.answered(number, by: .response) }
    #expect(table.expired(at: now + .seconds(9)).isEmpty && table.expired(at: now + RelayTable.silence) == [1])
    table.heard(1, at: now + .seconds(1))
    #expect(table.expired(at: now + .seconds(14)).isEmpty && table.expired(at: now + RelayTable.proof) == [1])
    table.close(1)
    table.waits(3, true, progress: false, at: now)
    table.waits(4, true, progress: false, at: now)
    table.waits(4, true, progress: true, at: now + .seconds(20))
    #expect(table.expired(at: now + RelayTable.slow) == [3])
    table.waits(3, false, progress: true, at: now + .seconds(30))
    table.waits(4, false, progress: true, at: now + .seconds(30))
    for number in 3...4 as ClosedRange<UInt32> { table.heard(number, at: now + .seconds(60)) }
    #expect(table.expired(at: now + RelayTable.idle) == [2] && table.expired(at: now + .seconds(180)) == [2, 3, 4])
  }

  @Test("a relay is asked for instead of a login, and not in the middle of one") func conversation() throws {
    var table = LoginTable()
    let frame = ClientMessage.relay(versions: 1...2).frame.bytes
    table.open(1, from: try source(1), at: now)
    #expect(table.receive(frame, from: 1, at: now) == [.relay(versions: 1...2)] && !table.isOpen(1))
    table.open(2, from: try source(1), at: now)
    _ = table.receive(ClientMessage.hello(hello).frame.bytes, from: 2, at: now)
    #expect(table.receive(frame, from: 2, at: now) == [.send(.failed(.format, retryAfter: 0)), .close])
  }
}
