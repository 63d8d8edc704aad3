/// The agent's record of networks, decisions and states (`history:`): whether there is one, how much of it, and how private it is.
package struct HistorySettings: Hashable, Sendable {
  /// The form in which the record has the names of networks.
  package enum Names: String, Equatable, Sendable, CaseIterable {
    /// SSIDs, hardware addresses and domains as they are.
    case full
    /// SSIDs and hardware addresses as keyed digests; no domains, no free text.
    case hashed
    /// No SSIDs, no hardware addresses, no addresses, no domains, no free text.
    case none
  }

  /// Whether the agent keeps a record. Without one, an earlier record is removed.
  package var isEnabled = true
  /// The largest size of the record, in bytes.
  package var size = HistorySettings.standardSize
  /// The age at which entries are removed.
  package var age = Duration.seconds(30 * 86_400)
  package var names = Names.full
  /// The place of the key; `nil`: no policy has it.
  package var location: SourceLocation?

  package static let standardSize = 8 << 20

  package init() {}

  /// Whether a record of the other level holds more than these settings allow.
  package func isMorePrivate(than other: Names) -> Bool { names.privacy > other.privacy }
}

extension HistorySettings.Names {
  fileprivate var privacy: Int {
    switch self {
    case .full: 0
    case .hashed: 1
    case .none: 2
    }
  }
}
