import PolicySource

/// The protocol that the keys of AmneziaWG in a wg-quick file make.
enum AmneziaWG {
  /// There is no such key.
  case absent
  /// A peer of plain WireGuard understands all packets: the others are junk, which it ignores.
  case plain
  /// Messages of other types or lengths than WireGuard's.
  case changed
}

extension AmneziaWG {
  /// Judges the settings of a file, of whatever section. A key that is given twice counts each time.
  init(_ settings: some Sequence<(key: String, value: String)>) {
    self = .absent
    for (key, value) in settings {
      guard let known = Self.key(key) else { continue }
      guard Self.isPlain(known, value) else {
        self = .changed
        return
      }
      self = .plain
    }
  }

  /// The key as AmneziaWG writes it; `nil`: it is none of AmneziaWG's.
  static func key(_ text: String) -> String? { keys.first { $0.lowercased() == text.lowercased() } }

  private static func isPlain(_ key: String, _ value: String) -> Bool {
    switch key {
    case "Jc", "Jmin", "Jmax": true
    case "S1", "S2", "S3", "S4", "Itime": UInt32(value) == 0
    case "H1": UInt32(value) == 1
    case "H2": UInt32(value) == 2
    case "H3": UInt32(value) == 3
    case "H4": UInt32(value) == 4
    case "AdvancedSecurity": value.lowercased() == "off"
    default: value.isEmpty
    }
  }

  private static let keys = [
    "Jc", "Jmin", "Jmax", "S1", "S2", "S3", "S4", "H1", "H2", "H3", "H4", "I1", "I2", "I3", "I4", "I5", "J1", "J2", "J3", "Itime",
    "AdvancedSecurity",
  ]
}
