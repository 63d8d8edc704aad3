/// A running gateway uses another store or other settings than commands mean, so what they say has no effect yet.
package struct UnservedSettings: Hashable, Sendable, CustomStringConvertible {
  package var hasOtherStore: Bool
  /// Settings that it has not taken: `relay`, `page` and others.
  package var settings: [String]

  package init(hasOtherStore: Bool, settings: [String]) {
    self.hasOtherStore = hasOtherStore
    self.settings = settings
  }

  package var isNone: Bool { !hasOtherStore && settings.isEmpty }

  package static let help = "systemctl restart roamward-gateway; everybody stays connected"

  package var text: String {
    let found =
      (hasOtherStore ? ["uses another store than this command"] : [])
      + (settings.isEmpty ? [] : ["has not taken the present settings of \(settings.joined(separator: ", "))"])
    return "the running gateway \(found.joined(separator: ", and "))"
  }

  package var description: String { "\(text); restart it with `systemctl restart roamward-gateway`" }
}
