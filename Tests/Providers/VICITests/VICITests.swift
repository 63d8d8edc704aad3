import SeededRandom
import Testing
import VICI

@Suite struct VICITests {
  /// The example of the vici plugin's README, section "Message format".
  @Test("the documented example is encoded byte for byte, and read") func example() throws {
    let message = VICIMessage([
      .text("key1", "value1"),
      .section("section1", [.section("sub-section", [.text("key2", "value2")]), .texts("list1", ["item1", "item2"])]),
    ])
    let bytes: [UInt8] =
      [3, 4] + Array("key1".utf8) + [0, 6] + Array("value1".utf8) + [1, 8] + Array("section1".utf8) + [1, 11] + Array("sub-section".utf8)
      + [3, 4] + Array("key2".utf8) + [0, 6] + Array("value2".utf8) + [2, 4, 5] + Array("list1".utf8) + [5, 0, 5] + Array("item1".utf8)
      + [5, 0, 5] + Array("item2".utf8) + [6, 2]
    #expect(try message.encoded() == bytes)
    #expect(try VICIMessage(decoding: bytes[...]) == message)
    #expect(message.section("section1")?.texts("list1") == ["item1", "item2"] && message.text("key1") == "value1")
  }

  static let packets: [VICIPacket] = [
    .request("version", VICIMessage()), .response(VICIMessage([.text("success", "yes")])), .unknownCommand, .register("ike-updown"),
    .unregister("ike-updown"), .confirmed, .unknownEvent, .event("log", VICIMessage([.init("a", .value([0, 255]))])),
  ]

  @Test("packets pass through a stream in pieces of any length", arguments: [1, 2, 3, 7, 1000]) func pieces(length: Int) throws {
    var stream = try Self.packets.flatMap { try $0.encoded() }[...]
    var reader = VICIReader()
    var read: [VICIPacket] = []
    while !stream.isEmpty {
      reader.append(Array(stream.prefix(length)))
      stream = stream.dropFirst(length)
      while let packet = try reader.next() { read.append(packet) }
    }
    #expect(read == Self.packets)
  }

  @Test("a name, a value or a packet that is too long is refused, and so is a length that charon never sends") func limits() throws {
    #expect(throws: VICIError.tooLong) { try VICIMessage([.text(String(repeating: "a", count: 256), "")]).encoded() }
    #expect(throws: VICIError.tooLong) { try VICIMessage([.init("a", .value(Array(repeating: 0, count: 65_536)))]).encoded() }
    let long = VICIMessage((0..<9).map { .init("\($0)", .value(Array(repeating: 0, count: 65_535))) })
    #expect(throws: VICIError.tooLong) { try VICIPacket.response(long).encoded() }
    var reader = VICIReader()
    reader.append([0, 8, 0, 1, 1])
    #expect(throws: VICIError.tooLong) { try reader.next() }
  }

  @Test(
    "what is no message is an error",
    arguments: [
      ([3], VICIError.truncated), ([3, 4, 97], .truncated), ([3, 1, 97, 0], .truncated), ([3, 1, 97, 0, 9, 1], .truncated),
      ([2], .unexpected(2)), ([1, 1, 97], .unfinished), ([4, 1, 97], .unfinished), ([4, 1, 97, 3], .unexpected(3)), ([9], .unexpected(9)),
      (Array(repeating: [1, 0], count: 17).flatMap { $0 }, .tooDeep),
    ] as [([UInt8], VICIError)])
  func malformed(bytes: [UInt8], error: VICIError) { #expect(throws: error) { try VICIMessage(decoding: bytes[...]) } }

  @Test("any bytes give a packet or an error, and a packet that is read is encoded as it came") func total() throws {
    var random = SplitMix64(seed: 500)
    let samples = try Self.packets.map { Array(try $0.encoded().dropFirst(4)) }
    for _ in 0..<50_000 {
      var bytes = random.pick(samples)
      for _ in 0..<Int(random.next() % 4) {
        switch random.next() % 3 {
        case 0: bytes.append(UInt8(truncatingIfNeeded: random.next() % 8))
        case 1: if !bytes.isEmpty { bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next()) }
        default: if !bytes.isEmpty { bytes.removeLast() }
        }
      }
      guard let packet = try? VICIPacket(decoding: bytes[...]) else { continue }
      let again = try packet.encoded()
      #expect(try VICIPacket(decoding: again.dropFirst(4)) == packet)
    }
  }
}
