/// A change of a list of a scope's settings, as options say it.
package struct ListChange<Value: Hashable & Sendable & CustomStringConvertible>: Sendable {
  /// The name of the setting in options: `route`.
  private let option: String
  private let whole: [Value]
  private let added: [Value]
  private let removed: [Value]
  private let replaces: Bool

  /// - Parameters:
  ///   - whole: the list in the place of the present one; none: the present one is changed.
  ///   - replaces: whether values of the present list may be lost.
  package init(option: String, whole: [Value], added: [Value], removed: [Value], replaces: Bool) {
    self.option = option
    self.whole = whole
    self.added = added
    self.removed = removed
    self.replaces = replaces
  }

  /// The list that results; `nil`: it is not concerned. Throws where values would be lost that nothing names, and for a value that is to be
  /// removed and is not there.
  package func made(of present: [Value]?) throws(GatewayError) -> [Value]? {
    if whole.isEmpty, added.isEmpty, removed.isEmpty { return nil }
    let before = present ?? []
    if let stranger = removed.first(where: { !before.contains($0) && !whole.contains($0) }) {
      let names = before.isEmpty ? "none" : before.map(\.description).joined(separator: ", ")
      throw GatewayError("--remove-\(option): \(stranger) is not in the list", help: "the scope has \(names)")
    }
    let base = whole.isEmpty ? before : whole
    let lost = before.filter { !base.contains($0) && !removed.contains($0) }
    guard lost.isEmpty || replaces else {
      let values = whole.map { " --add-\(option) \($0)" }.joined()
      throw GatewayError(
        "--\(option) would replace \(before.map(\.description).joined(separator: ", "))",
        help: "add to the list with\(values); --replace puts the new list in its place")
    }
    var result: [Value] = []
    for value in base + added where !removed.contains(value) && !result.contains(value) { result.append(value) }
    return result
  }
}
