import GatewayCore
import GatewayStore
import SeededRandom
import Testing

/// The messages between a gateway and the process with the connection to its store.
@Suite struct StoreMessageTests {
  private static func value(_ random: inout SplitMix64) -> SQLValue {
    switch random.next() % 4 {
    case 0: .null
    case 1: .integer(Int64(bitPattern: random.next()))
    case 2: .text(String(repeating: "ä€x", count: Int(random.next() % 20)))
    default: .bytes((0..<random.next() % 40).map { UInt8(truncatingIfNeeded: $0 &* 37) })
    }
  }

  @Test("every message is read as it was written", arguments: 1...4) func roundTrip(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<2_000 {
      let row = (0..<random.next() % 6).map { _ in Self.value(&random) }
      let requests: [StoreRequest] = [
        .connect("host=x dbname=y"), .run("SELECT 1", row), .beginWriting, .beginReading, .commit, .rollBack, .announce,
      ]
      for request in requests { #expect(try StoreRequest(request.bytes) == request) }
      let replies: [StoreReply] = [
        .rows([row, [], row]), .rows([]), .done, .failed(StoreError("a", help: "b")), .failed(StoreError("a")), .changed,
      ]
      for reply in replies { #expect(try StoreReply(reply.bytes) == reply) }
      #expect(StoreReply.rows([row]).bytes.count == 1 + StoreReply.length(of: row))
    }
  }

  @Test("other bytes are refused, or are a message that is written in the same way", arguments: 1...4) func hostile(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<50_000 {
      var bytes = StoreReply.rows([[Self.value(&random), Self.value(&random)]]).bytes
      for _ in 0...random.next() % 3 {
        switch random.next() % 3 {
        case 0: bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.removeLast(min(bytes.count - 1, Int(random.next() % 4)))
        default: bytes.append(UInt8(truncatingIfNeeded: random.next()))
        }
      }
      if let reply = try? StoreReply(bytes) { #expect(reply.bytes == bytes) }
      if let request = try? StoreRequest(bytes) { #expect(request.bytes == bytes) }
    }
  }
}
