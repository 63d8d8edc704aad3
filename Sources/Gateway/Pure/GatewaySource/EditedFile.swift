import PolicySource
import RoamwardCore

/// The text of a file of a gateway, with changes of single values. All other lines stay as they are, comments included.
///
/// The result is read again: if anything else than the value would change, the change fails.
package struct EditedFile: Sendable {
  package let path: String
  package private(set) var text: String

  package init(path: String, text: String) { (self.path, self.text) = (path, text.isEmpty ? "version: 1\n" : text) }

  /// The number of keys of a path that the file has, from the first one on.
  package func depth(of path: SettingPath) -> Int { root.map { Self.chain(path.keys, in: $0).count } ?? 0 }

  private var root: Node? { readYAML(SourceText(policy: path, Array(text.utf8))).root }

  /// Carries out a change.
  package mutating func apply(_ edit: SettingEdit) throws(SettingFault) {
    let (_, tree) = try read()
    let old = tree[edit.path.keys[...]]
    try write(edit.path.keys, old, try edit.value(of: old))
  }

  private func read() throws(SettingFault) -> (root: Node, tree: SettingTree) {
    guard let root, let tree = SettingTree(root) else {
      throw SettingFault("\(path) has errors", help: "`roamward-gateway check` shows them")
    }
    return (root, tree)
  }

  /// Replaces a value, and of a mapping only what differs.
  private mutating func write(_ keys: [String], _ old: SettingTree?, _ new: SettingTree?) throws(SettingFault) {
    if old == new { return }
    if case .mapping(let was) = old, case .mapping(let becomes) = new, !was.isEmpty, !becomes.isEmpty {
      for entry in was where new?[[entry.key]] == nil { try write(keys + [entry.key], entry.value, nil) }
      for entry in becomes { try write(keys + [entry.key], old?[[entry.key]], entry.value) }
      return
    }
    let (root, tree) = try read()
    var wanted = tree
    wanted.set(keys[...], to: new)
    for text in texts(keys, Self.chain(keys, in: root), wanted) {
      let found = readYAML(SourceText(policy: path, Array(text.utf8)))
      if !found.diagnostics.hasErrors, let root = found.root, SettingTree(root) == wanted {
        self.text = text
        return
      }
    }
    throw SettingFault(
      "the text of \(path) has a form that this command cannot change",
      help: "change \(SettingPath(keys)) there with an editor")
  }

  /// The entries on the path, as far as there are some.
  private static func chain(_ keys: [String], in root: Node) -> [Node.Entry] {
    var (found, node) = ([Node.Entry](), root)
    for key in keys {
      guard case .mapping(let entries) = node.content, let entry = entries.first(where: { $0.key == key }) else { break }
      found.append(entry)
      node = entry.value
    }
    return found
  }

  /// Texts that may be the changed one: those that change the fewest lines come first.
  private func texts(_ keys: [String], _ chain: [Node.Entry], _ wanted: SettingTree) -> [String] {
    let lines = FileLines(text)
    var found: [String] = []
    let depth = chain.count
    let isThere = depth == keys.count
    if isThere, let value = wanted[keys[...]] {
      if case .sequence(let items) = chain[depth - 1].value.content, case .list(let new) = value {
        let old = items.compactMap { SettingTree($0) }
        if let text = lines.changing(
          items.map(\.location.line), removing: old.indices.filter { !new.contains(old[$0]) },
          adding: new.filter { !old.contains($0) }.map(\.yaml))
        {
          found.append(text)
        }
      }
    } else if isThere {
      if let text = lines.removing(chain[depth - 1]) { found.append(text) }
    } else if let value = wanted[keys[...(depth)]] {
      if let text = lines.inserting(keys[depth], value.yaml, below: chain.last) { found.append(text) }
    }
    for i in stride(from: depth, to: 0, by: -1) {
      guard let value = wanted[keys[..<i]] else { continue }
      if let text = lines.replacing(chain[i - 1], by: value.yaml) { found.append(text) }
    }
    return found
  }
}

/// The lines of a file in block style.
private struct FileLines {
  private let lines: [String]
  private let lineEnd: String

  /// By bytes: `\r\n` is one character. Lines that end in either way are all written in that of the first one.
  init(_ text: String) {
    var lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    if lines.last == "" { lines.removeLast() }
    let isOfWindows = lines.first?.utf8.last == UInt8(ascii: "\r")
    lineEnd = isOfWindows ? "\r\n" : "\n"
    self.lines = lines.map { $0.utf8.last == UInt8(ascii: "\r") ? String(decoding: $0.utf8.dropLast(), as: UTF8.self) : $0 }
  }

  private func text(_ lines: [String]) -> String { lines.joined(separator: lineEnd) + lineEnd }

  /// The lines of an entry; `nil`: its key does not begin a line.
  private func extent(of entry: Node.Entry) -> Range<Int>? {
    let (first, indent) = (entry.keyLocation.line - 1, entry.keyLocation.column - 1)
    guard lines.indices.contains(first), lines[first].indentation == indent else { return nil }
    var last = first
    for i in lines.indices.dropFirst(first + 1) where lines[i].isSignificant {
      let isInner = lines[i].indentation > indent || lines[i].indentation == indent && lines[i].dropFirst(indent).hasPrefix("- ")
      if !isInner { break }
      last = i
    }
    return first..<(last + 1)
  }

  /// The lines of a key with its value.
  private static func printed(_ key: String, _ value: YAMLValue, indent: Int) -> [String] {
    YAMLMapping([(key, value)]).text.split(separator: "\n").map { String(repeating: " ", count: indent) + $0 }
  }

  func removing(_ entry: Node.Entry) -> String? {
    guard let extent = extent(of: entry) else { return nil }
    var new = lines
    new.removeSubrange(extent)
    return text(new)
  }

  /// Comments within go before the entry.
  func replacing(_ entry: Node.Entry, by value: YAMLValue) -> String? {
    guard let extent = extent(of: entry) else { return nil }
    let indent = entry.keyLocation.column - 1
    var printed = Self.printed(entry.key, value, indent: indent)
    let comments = lines[extent].map(\.comment)
    if extent.count == 1, printed.count == 1 {
      printed[0] += comments[0].map { "  \($0)" } ?? ""
    } else {
      printed = comments.compactMap(\.self).map { String(repeating: " ", count: indent) + $0 } + printed
    }
    var new = lines
    new.replaceSubrange(extent, with: printed)
    return text(new)
  }

  /// Adds an entry at the end of the mapping of another one; `nil`: of the file's own.
  func inserting(_ key: String, _ value: YAMLValue, below parent: Node.Entry?) -> String? {
    var new = lines
    guard let parent else {
      let isTight = new.isEmpty || new.count(where: \.isSignificant) < 2
      return text(new + (isTight ? [] : [""]) + Self.printed(key, value, indent: 0))
    }
    guard let extent = extent(of: parent), case .mapping(let entries) = parent.value.content, let first = entries.first,
      let inner = self.extent(of: first)
    else { return nil }
    let indent = lines[inner.lowerBound].indentation
    new.insert(contentsOf: Self.printed(key, value, indent: indent), at: extent.upperBound)
    return text(new)
  }

  /// Changes a list whose items have lines of their own, from these numbers on.
  func changing(_ numbers: [Int], removing places: [Int], adding values: [YAMLValue]) -> String? {
    let items = numbers.map { $0 - 1 }
    guard let last = items.last, Set(items).count == items.count, places.count < items.count || values.isEmpty == false,
      items.allSatisfy({ lines.indices.contains($0) && lines[$0].drop { $0 == " " }.hasPrefix("- ") })
    else { return nil }
    var new = lines
    let indent = String(repeating: " ", count: lines[last].indentation)
    let added = values.map { value in
      indent + "-" + YAMLMapping([("k", value)]).text.dropFirst(2).split(separator: "\n").joined(separator: "\n")
    }
    new.insert(contentsOf: added, at: last + 1)
    for place in places.reversed() { new.remove(at: items[place]) }
    return text(new)
  }
}

extension String {
  fileprivate var indentation: Int { prefix { $0 == " " }.count }

  /// Neither empty nor only a comment.
  fileprivate var isSignificant: Bool {
    let rest = drop { $0 == " " }
    return !(rest.isEmpty || rest.hasPrefix("#"))
  }

  /// The comment of the line; `nil`: there is none. Quotes of values are respected.
  fileprivate var comment: String? {
    var (quote, last): (Character?, Character) = (nil, " ")
    for place in indices {
      let letter = self[place]
      if let open = quote {
        if letter == open { quote = nil }
      } else if letter == "\"" || letter == "'", " [{,:".contains(last) {
        quote = letter
      } else if letter == "#", last == " " {
        return String(self[place...])
      }
      last = letter
    }
    return nil
  }
}
