import JSON
import PolicySource

/// A change of one value in what declares a gateway.
package struct SettingEdit: Hashable, Sendable {
  package enum Act: Hashable, Sendable {
    /// Sets these values, as YAML; several are a list. Keys of a mapping that are not named stay.
    case set([String])
    /// Adds these values to a list, and removes those.
    case change(adding: [String], removing: [String])
    /// Removes the key.
    case remove
  }

  package let path: SettingPath
  package let act: Act
  /// Whether values of a list may be lost that are not named.
  package let replaces: Bool

  package init(_ path: SettingPath, _ act: Act, replaces: Bool = false) { (self.path, self.act, self.replaces) = (path, act, replaces) }

  /// The value after the change of a present one; `nil`: none.
  func value(of present: SettingTree?) throws(SettingFault) -> SettingTree? {
    switch act {
    case .remove: return nil
    case .set(let texts):
      let values = try Self.trees(of: texts)
      let isSingle = values.count == 1 && !Self.isItem(values[0], of: path)
      let new: SettingTree = isSingle ? values[0] : .list(values.indices.filter { !values[..<$0].contains(values[$0]) }.map { values[$0] })
      return try merged(new, with: present, at: path)
    case .change(let adding, let removing):
      guard path.isList else { throw SettingFault("\(path) is no list", help: "give its value without --add and --remove") }
      var items = Self.items(of: present)
      for value in try Self.trees(of: removing) {
        guard items.contains(value) else {
          throw SettingFault("\(value.shown) is not in \(path)", help: "\(path) is \(SettingTree.list(items).shown)")
        }
        items.removeAll { $0 == value }
      }
      for value in try Self.trees(of: adding) where !items.contains(value) { items.append(value) }
      return .list(items)
    }
  }

  /// Whether a single value becomes a list of one, because the key has lists.
  private static func isItem(_ value: SettingTree, of path: SettingPath) -> Bool {
    switch value {
    case .list, .mapping: false
    case .word(let word): path.isList && word != "~"
    case .text: path.isList
    }
  }

  private static func items(of tree: SettingTree?) -> [SettingTree] {
    switch tree {
    case nil, .word("~")?: []
    case .list(let items)?: items
    case let single?: [single]
    }
  }

  /// A value over the present one. Nothing that is not named is lost in silence.
  private func merged(_ new: SettingTree, with present: SettingTree?, at path: SettingPath) throws(SettingFault) -> SettingTree {
    guard let present else { return new }
    if case .mapping(let entries) = new, case .mapping = present, !replaces {
      var result = present
      for entry in entries {
        let value = try merged(entry.value, with: present[[entry.key]], at: SettingPath(path.keys + [entry.key]))
        result.set([entry.key], to: value)
      }
      return result
    }
    if case .mapping = present, case .word(let word) = new, parseBoolean(word) == true { return present }
    guard path.isList, !replaces else { return new }
    let kept = Self.items(of: new)
    let lost = Self.items(of: present).filter { !kept.contains($0) }
    if lost.isEmpty { return new }
    throw SettingFault(
      "\(path) would lose \(SettingTree.list(lost).shown)", help: "--add adds to the list; with --replace, it is replaced")
  }

  /// Values as YAML is written.
  private static func trees(of texts: [String]) throws(SettingFault) -> [SettingTree] {
    var found: [SettingTree] = []
    for text in texts {
      let (root, problems) = readYAML(SourceText(policy: "value", Array(text.utf8)))
      guard let tree = root.flatMap({ SettingTree($0) }), !problems.hasErrors else {
        throw SettingFault("\(quoted(text)) is no value", help: "values are YAML: 443, [a, b], { port: 443 }, \"any text\"")
      }
      found.append(tree)
    }
    return found
  }
}
