import Testing

@testable import WireGuardDataPath

@Suite("Congestion marks across the tunnel")
struct CongestionMarksTests {
  @Test("the outer header has the inner ECN bits, no mark of congestion and no DSCP")
  func outer() {
    #expect((0...255).map { CongestionMarks.outer(ofInner: UInt8($0)) } == (0...255).map { [0, 1, 2, 2][$0 & 3] })
  }

  @Test(
    "a mark on the way reaches the inner packet of a sender that understands it, with a right header checksum", arguments: [true, false])
  func marking(isV4: Bool) throws {
    for inner in 0...UInt8.max {
      var sample = SampleSuperpacket()
      sample.isV4 = isV4
      sample.payload = 100
      sample.trafficClass = inner
      var packet = try split(sample.bytes(), sample.virtio)[0]
      packet.withUnsafeMutableBytes { if let base = $0.baseAddress { CongestionMarks.mark(base) } }
      let marked = isV4 ? packet[1] : packet[0] << 4 | packet[1] >> 4
      #expect(marked == (inner & 3 == 0 ? inner : inner | 3))
      #expect(sample.isSound(packet))
    }
  }

  @Test("versions of kernels that damage equal segments are known")
  func kernels() {
    let bad = ["7.0.0", "7.0", "7.1.4-rc2", "7.1.0-1-amd64"]
    let good = ["6.1.0-44-amd64", "6.18.44", "7.1.5", "7.2", "", "5"]
    #expect(bad.allSatisfy { KernelRelease($0).manglesEqualSegments })
    #expect(good.allSatisfy { !KernelRelease($0).manglesEqualSegments })
  }
}
