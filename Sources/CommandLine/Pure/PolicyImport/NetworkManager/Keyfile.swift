/// A keyfile of NetworkManager (nm-settings-keyfile(5)): groups of keys, in the order of the file.
struct Keyfile {
  struct Entry {
    var group: String
    var key: String
    var value: String
    var line: Int

    /// The place of the value. Text that does not look like a name is not shown: it may be a misplaced secret.
    var place: KeyPath {
      let peer = "wireguard-peer."
      let group =
        self.group.hasPrefix(peer)
        ? "\(peer)\(shown(String(self.group.dropFirst(peer.count).prefix(8))))…" : Self.name(self.group, or: "group")
      return KeyPath(text: "[\(group)].\(Self.name(key, or: "key"))", line: line)
    }

    private static func name(_ text: String, or other: String) -> String {
      let isName =
        text.utf8.count <= 40 && text.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") }
      return isName ? text : "(\(other))"
    }
  }

  private(set) var entries: [Entry] = []

  init(_ bytes: [UInt8]) throws(ImportFailure) {
    var group: String?
    for (number, text) in numberedLines(bytes) {
      let line = trimmed(text)
      if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
      if line.hasPrefix("["), line.hasSuffix("]") {
        group = String(line.dropFirst().dropLast())
      } else if let group, let equals = line.firstIndex(of: "=") {
        let key = trimmed(line[..<equals])
        entries.removeAll { $0.group == group && $0.key == key }
        entries.append(Entry(group: group, key: key, value: trimmed(line[line.index(after: equals)...]), line: number))
      } else {
        throw ImportFailure("this is neither a group nor `key=value`", help: "keyfiles begin with [connection]", line: number)
      }
    }
  }

  func value(_ group: String, _ key: String) -> String? { entries.first { $0.group == group && $0.key == key }?.value }

  mutating func take(_ group: String, _ key: String) -> Entry? {
    entries.firstIndex { $0.group == group && $0.key == key }.map { entries.remove(at: $0) }
  }

  /// The names of groups, each once, in the order of the file.
  var groups: [String] {
    var seen: Set<String> = []
    return entries.map(\.group).filter { seen.insert($0).inserted }
  }
}

/// The items of a list: separated by `;`, or by `,` as users write it.
func keyfileList(_ value: String) -> [String] { value.split { $0 == ";" || $0 == "," }.map { trimmed($0) }.filter { !$0.isEmpty } }
