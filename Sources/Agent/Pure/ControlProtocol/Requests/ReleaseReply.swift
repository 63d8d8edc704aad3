/// The reply to `release`.
package struct ReleaseReply: Equatable, Sendable, Codable {
  /// The guards of killed programs that it has ended, as `openvpn (guard 4711)`.
  package var endedGuards: [String]
  /// Whether the kill switch is suspended; it is not if nothing but these guards was there.
  package var isSuspended: Bool

  package init(endedGuards: [String] = [], isSuspended: Bool = true) {
    self.endedGuards = endedGuards
    self.isSuspended = isSuspended
  }

  private enum CodingKeys: String, CodingKey {
    case endedGuards = "ended-guards"
    case isSuspended = "suspended"
  }
}
