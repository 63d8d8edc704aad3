/// From when to when something is valid that a server wants of this machine, such as a certificate, by the wall clock.
public struct Validity: Hashable, Sendable {
  /// Its name for people, at most 256 bytes: `the certificate laptop`.
  public let name: String
  /// Seconds since 1970 (UTC); `nil`: not known.
  public let start: Int64?
  /// Seconds since 1970 (UTC).
  public let end: Int64

  /// The latest moment that can be told: the end of the year 9999.
  public static let latest: Int64 = 253_402_300_799

  public init(_ name: String, from start: Int64? = nil, until end: Int64) {
    self.name = name
    self.start = start
    self.end = end
  }
}
