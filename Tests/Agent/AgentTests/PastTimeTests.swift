import History
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// Moments of the past as people write them.
@Suite struct PastTimeTests {
  /// A Tuesday.
  let now = Timestamp("2026-11-24T10:00:00.000Z") ?? 0

  @Test(
    "are understood",
    arguments: [
      ("yesterday 14:05", "2026-11-23T14:05:00.000Z"), ("14:05", "2026-11-23T14:05:00.000Z"), ("9:05", "2026-11-24T09:05:00.000Z"),
      ("today 09:05:30", "2026-11-24T09:05:30.000Z"), ("mon 14:05", "2026-11-23T14:05:00.000Z"), ("tue 14:05", "2026-11-17T14:05:00.000Z"),
      ("Sunday 00:00", "2026-11-22T00:00:00.000Z"), ("2026-11-01 23:59", "2026-11-01T23:59:00.000Z"), ("14d", "2026-11-10T10:00:00.000Z"),
      ("90m ago", "2026-11-24T08:30:00.000Z"), ("2026-11-20T01:02:03.004Z", "2026-11-20T01:02:03.004Z"),
      ("now", "2026-11-24T10:00:00.000Z"),
      ("2026-11-20", "2026-11-20T00:00:00.000Z"), ("yesterday", "2026-11-23T00:00:00.000Z"),
    ]) func understood(text: String, expected: String) throws
  {
    #expect(PastTime(text, now: now, .utc).map { "\($0.time)" } == expected)
  }

  @Test(
    "others are refused",
    arguments: ["", "25:00", "14:60", "tomorrow 9:00", "14", "-3d", "0d", "d", "moon 14:05", "2026-13-01 10:00", "a b c"])
  func refused(_ text: String) { #expect(PastTime(text, now: now, .utc) == nil) }
}
