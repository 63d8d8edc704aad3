import Testing

@testable import WireGuardDataPath

@Suite("Cutting up superpackets, and joining packets to them")
struct SplittingTests {
  @Test("every segment is a sound packet, and joining them gives the superpacket again, whatever it was")
  func identity() throws {
    var generator = SystemRandomNumberGenerator()
    var whole = 0
    for round in 0..<1000 {
      var sample = SampleSuperpacket()
      sample.isV4 = .random()
      sample.isTCP = .random()
      sample.segmentSize = .random(in: 1...1400, using: &generator)
      sample.payload = min(65_000, .random(in: 1...sample.segmentSize * 63, using: &generator))
      sample.options = [0, 12, 40].randomElement() ?? 0
      sample.trafficClass = .random(in: 0...255)
      sample.identification = .random(in: 0...(.max))
      sample.sequence = .random(in: 0...(.max))
      sample.flags = 0x10 | (Bool.random() ? 0x08 : 0) | (Bool.random() ? 0x40 : 0)
      let bytes = sample.bytes(seed: round)
      let segments = try split(bytes, sample.virtio)
      #expect(segments.count == (sample.payload + sample.segmentSize - 1) / sample.segmentSize)
      #expect(segments.allSatisfy(sample.isSound), "\(sample)")
      #expect(segments.flatMap { $0.dropFirst(sample.headerLength) } == Array(bytes.dropFirst(sample.headerLength)), "\(sample)")

      let joined = join(segments)
      guard joined.count == 1, segments.count > 1 else { continue }
      whole += 1
      #expect(joined[0].1 == bytes, "\(sample)")
      #expect(joined[0].0.segmentation == sample.virtio.segmentation && joined[0].0.segmentSize == sample.virtio.segmentSize)
      #expect(try split(joined[0].1, joined[0].0) == segments, "\(sample)")
    }
    // All but those of one segment.
    #expect(whole > 700, "\(whole)")
  }

  @Test("sequence numbers and identifications count up across their ends; FIN and PSH end the last segment, CWR begins the first")
  func fields() throws {
    var sample = SampleSuperpacket()
    sample.flags = 0x10 | 0x01 | 0x08 | 0x80
    var virtio = sample.virtio
    virtio.segmentation |= VirtioHeader.Segmentation.ecn
    let segments = try split(sample.bytes(), virtio)
    #expect(segments.map { $0[33] } == [0x90, 0x10, 0x19])
    #expect(segments.map { Int($0[4]) << 8 | Int($0[5]) } == [0xfffe, 0xffff, 0])
    #expect(segments.map { $0[24..<28].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } } == [0xffff_f000, 0xffff_f564, 0xffff_fac8])
  }

  @Test("IPv4 options and IPv6 extension headers stand in every segment, and are not joined", arguments: [true, false])
  func extensions(isV4: Bool) throws {
    var sample = SampleSuperpacket()
    sample.isV4 = isV4
    sample.extra = 8
    let segments = try split(sample.bytes(), sample.virtio)
    #expect(segments.count == 3 && segments.allSatisfy(sample.isSound))
    #expect(join(segments).map(\.1) == segments)
  }

  @Test("a packet that lacks its checksum alone gets it; UDP's is never zero")
  func single() throws {
    for isTCP in [true, false] {
      for payload in 0..<300 {
        var sample = SampleSuperpacket()
        sample.isTCP = isTCP
        sample.payload = payload
        let bytes = sample.bytes(seed: payload)
        let packets = try split(bytes, sample.virtio)
        #expect(packets.count == 1 && sample.isSound(packets[0]))
      }
    }
    // A payload that makes the sum 0xffff, and so its complement zero.
    var sample = SampleSuperpacket()
    sample.isTCP = false
    sample.payload = 2
    for value in 0...UInt16.max {
      var bytes = sample.bytes()
      (bytes[28], bytes[29]) = (UInt8(value >> 8), UInt8(value & 255))
      let packet = try split(bytes, sample.virtio)[0]
      #expect(packet[26] != 0 || packet[27] != 0)
    }
  }

  @Test(
    "what differs in the wrong place is not joined, and nothing is out of order",
    arguments: [
      // TOS, don't-fragment, TTL, acknowledgement, window, an option, SYN, RST, URG, CWR, a sequence number.
      (1, 1), (6, 0x40), (8, 1), (31, 1), (35, 1), (41, 1), (33, 0x02), (33, 0x04), (33, 0x20), (33, 0x80), (27, 1),
    ])
  func different(place: Int, bit: Int) throws {
    var sample = SampleSuperpacket()
    sample.identification = 1
    var segments = try split(sample.bytes(), sample.virtio)
    segments[1][place] ^= UInt8(bit)
    let written = join(segments)
    #expect(written.count == 3)
    #expect(written.map(\.1) == segments)
  }

  @Test("flows that alternate are joined each by itself, in their order")
  func flows() throws {
    let samples = (0..<4).map { i in
      var sample = SampleSuperpacket()
      sample.port = UInt16(1000 + i)
      return sample
    }
    let segments = try samples.map { try split($0.bytes(), $0.virtio) }
    let mixed = (0..<3).flatMap { i in segments.map { $0[i] } }
    #expect(join(mixed).map(\.1) == samples.map { $0.bytes() })
    #expect(join(mixed, tcp: false).map(\.1) == mixed)
  }

  @Test("fragments, datagrams without a checksum and headers that do not fit pass as they came")
  func passing() throws {
    var sample = SampleSuperpacket()
    sample.isTCP = false
    var segments = try split(sample.bytes(), sample.virtio)
    #expect(join(segments).count == 1)
    for i in segments.indices { (segments[i][26], segments[i][27]) = (0, 0) }
    #expect(join(segments).map(\.1) == segments)
    segments = try split(sample.bytes(), sample.virtio)
    for i in segments.indices { segments[i][6] = 0x20 }
    #expect(join(segments).map(\.1) == segments)
    // A data offset that points past the end.
    sample.isTCP = true
    segments = try split(sample.bytes(), sample.virtio)
    for i in segments.indices {
      segments[i][32] = 0xf0
      segments[i] = Array(segments[i].prefix(60))
    }
    #expect(join(segments).map(\.1) == segments)
  }

  @Test("a header that says it is shorter than its protocol's, or longer than the place of the next, is malformed")
  func headerLengths() throws {
    var sample = SampleSuperpacket()
    for offset in UInt8(0)..<5 {
      var bytes = sample.bytes()
      bytes[sample.transport + 12] = offset << 4
      #expect(throws: Superpacket.Flaw.malformed) { try split(bytes, sample.virtio) }
    }
    sample.isTCP = false
    for words in UInt8(6)...15 {
      var bytes = sample.bytes()
      bytes[0] = 0x40 | words
      #expect(throws: Superpacket.Flaw.malformed) { try split(bytes, sample.virtio) }
    }
  }

  @Test("more runs than there is room for are written in several parts")
  func manyRuns() throws {
    let packets = try (0..<3 * Coalescer.capacity + 1).map { i in
      var sample = SampleSuperpacket()
      sample.payload = 100
      sample.port = UInt16(i)
      return try #require(split(sample.bytes(), sample.virtio).first)
    }
    #expect(join(packets).map(\.1) == packets)
  }

  @Test("nothing that the kernel could hand over traps: headers at random")
  func mutated() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<5000 {
      var sample = SampleSuperpacket()
      sample.isV4 = .random()
      sample.isTCP = .random()
      sample.payload = .random(in: 0...5000)
      var bytes = sample.bytes()
      for _ in 0..<3 { bytes[.random(in: 0..<min(bytes.count, 64))] = .random(in: 0...255) }
      var virtio = sample.virtio
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: virtio.checksumStart = .random(in: 0...(.max))
      case 1: virtio.checksumOffset = .random(in: 0...(.max))
      case 2: virtio.segmentSize = .random(in: 0...(.max))
      case 3: virtio.segmentation = .random(in: 0...255)
      default: break
      }
      let segments = (try? split(bytes, virtio)) ?? []
      _ = join(segments.filter { $0.count >= 20 })
    }
  }
}
