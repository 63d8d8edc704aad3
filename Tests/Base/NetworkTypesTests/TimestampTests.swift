import NetworkTypes
import SeededRandom
import Testing

@Suite struct TimestampTests {
  @Test(
    "a moment as text",
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (1_795_348_987_412, "2026-11-22T12:03:07.412Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (-1, "1969-12-31T23:59:59.999Z"), (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ] as [(Int64, String)])
  func text(milliseconds: Int64, text: String) {
    #expect(Timestamp(milliseconds: milliseconds).description == text)
    #expect(Timestamp(text) == Timestamp(milliseconds: milliseconds))
  }

  @Test("20,000 moments survive, and sort as their texts do") func roundTrip() {
    var random = SplitMix64(seed: 11)
    var moments: [Timestamp] = []
    for _ in 0..<20_000 {
      moments.append(Timestamp(milliseconds: Int64.random(in: -62_167_219_200_000...253_402_300_799_999, using: &random)))
    }
    for moment in moments { #expect(Timestamp(moment.description) == moment) }
    #expect(moments.sorted().map(\.description) == moments.map(\.description).sorted())
  }

  @Test(
    "nothing else is a moment",
    arguments: [
      "", "2026-11-22", "2026-11-22T12:03:07Z", "2026-11-22T12:03:07.412+00:00", "2026-11-22T12:03:07.412z", "2026-02-29T12:03:07.412Z",
      "2026-13-01T12:03:07.412Z", "2026-00-01T12:03:07.412Z", "2026-11-22T24:00:00.000Z", "2026-11-22T12:60:07.412Z",
      "2026-11-22T12:03:60.412Z",
      "2026-11-22T12:03:07.41aZ", "+026-11-22T12:03:07.412Z", "2026-11-22T12:03:07.412Z ", "２026-11-22T12:03:07.41Z",
    ])
  func refused(text: String) { #expect(Timestamp(text) == nil) }

  @Test("arithmetic does not trap at the ends, and seconds round down") func ends() {
    #expect(Timestamp.distantFuture + .seconds(1) == .distantFuture)
    #expect(Timestamp(milliseconds: .min) - .seconds(1) == Timestamp(milliseconds: .min))
    #expect(Timestamp(seconds: .max) == .distantFuture && Timestamp(seconds: .min) == Timestamp(milliseconds: .min))
    #expect(Timestamp.distantFuture - Timestamp(milliseconds: .min) == .milliseconds(Int64.max))
    #expect(Timestamp(milliseconds: -1).seconds == -1 && Timestamp(milliseconds: 1999).seconds == 1)
    #expect(Timestamp.distantFuture.description == "9999-12-31T23:59:59.999Z")
    #expect(Timestamp(milliseconds: .min).description == "0000-01-01T00:00:00.000Z")
  }
}
