package import NetworkTypes

/// The first file of a backup: what else is in it, with sizes and digests. Every byte of a backup follows from it and from the files, so a
/// reader knows each byte that it expects.
package struct BackupManifest: Hashable, Sendable {
  /// A file of the backup.
  package struct Entry: Hashable, Sendable {
    package let name: String
    /// The permissions.
    package let mode: UInt16
    /// In bytes.
    package let size: Int
    /// SHA-256.
    package let digest: [UInt8]

    package init(name: String, mode: UInt16, size: Int, digest: [UInt8]) {
      self.name = name
      self.mode = mode
      self.size = size
      self.digest = digest
    }
  }

  /// The time of the backup.
  package let made: Timestamp
  /// The version of the program that made it.
  package let release: String
  /// The database from which the store was copied, without a password; `nil`: it was the gateway's file.
  package let database: String?
  /// Sorted by name; none twice.
  package let entries: [Entry]

  /// The store's name, in a backup and in the gateway's folder.
  package static let store = "gateway.db"
  package static let key = "private.key"
  package static let login = "login.pem"
  /// The login key of a gateway whose files declare that there are no logins.
  package static let restingLogin = "login.pem.off"
  /// Goes before the names of declared files.
  package static let declared = "declared/"

  /// Its own name in the backup.
  package static let name = "roamward-gateway-backup"
  /// The size of a manifest, in bytes, is at most this.
  package static let limit = 1 << 20
  /// The largest file: its size has 11 octal digits.
  package static let sizeLimit = 0o77_777_777_777
  private static let title = "roamward-gateway backup 1"

  package init(made: Timestamp, release: String, database: String?, entries: [Entry]) {
    self.made = made
    self.release = release
    // A line for people: a hand-written connection string may end in a carriage return, which would be one character with the line's end.
    self.database = database.map {
      String(String.UnicodeScalarView($0.unicodeScalars.filter { $0.properties.generalCategory != .control }))
    }
    self.entries = entries.sorted { $0.name < $1.name }
  }

  /// The text without its last line, which has the digest of the others.
  private var body: String {
    var lines = [Self.title, "made \(made) by \(release)"]
    if let database { lines.append("database \(database)") }
    for entry in entries {
      lines.append("file \(String(entry.mode, radix: 8)) \(entry.size) \(entry.digest.map(hexadecimal).joined()) \(entry.name)")
    }
    return lines.map { $0 + "\n" }.joined()
  }

  package func text(_ digest: Digest) -> String { "\(body)end \(digest(Array(body.utf8)).map(hexadecimal).joined())\n" }

  /// Reads the form of `text` for the same digest, and no other. `settings`: the names of files with settings.
  package init(parsing text: String, settings: [String], _ digest: Digest) throws(GatewayError) {
    guard text.hasPrefix("roamward-gateway backup ") else { throw Self.damaged("its list of files is none") }
    guard text.hasPrefix(Self.title + "\n") else {
      throw GatewayError("this backup was made by a later version of roamward-gateway", help: "update roamward-gateway, then try again")
    }
    // By scalars: after a carriage return, a line's end is no character of its own.
    var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { Substring($0) }[...]
    lines.removeFirst()
    let made = lines.popFirst()?.split(separator: " ", omittingEmptySubsequences: false).map(String.init) ?? []
    guard made.count == 4, made[0] == "made", let time = Timestamp(made[1]), made[2] == "by", Self.isWord(made[3]) else {
      throw Self.damaged("its list of files has no time")
    }
    var database: String?
    if let line = lines.first, line.hasPrefix("database ") {
      database = String(line.dropFirst("database ".count))
      lines.removeFirst()
    }
    let entries = lines.compactMap { Entry($0) }
    let read = BackupManifest(made: time, release: made[3], database: database, entries: entries)
    guard read.text(digest) == text else { throw Self.damaged("its list of files is not as it was written") }
    guard Set(entries.map(\.name)).count == entries.count,
      [Self.store, Self.key].allSatisfy({ name in entries.contains { $0.name == name } })
    else { throw Self.damaged("its list has no store or no key, or a file twice") }
    for entry in entries where !Self.isExpected(entry, settings) {
      throw GatewayError("the backup has a file that belongs to no gateway: \(entry.name)", help: "use another backup")
    }
    self = read
  }

  private static func isWord(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { (33...126).contains($0) } }

  package static func damaged(_ reason: String) -> GatewayError {
    GatewayError("the backup is damaged: \(reason)", help: "use another copy of it, or another backup")
  }

  package subscript(name: String) -> Entry? { entries.first { $0.name == name } }

  /// The names of the declared files, in their folder.
  package var declared: [String] {
    entries.filter { $0.name.hasPrefix(Self.declared) }.map { String($0.name.dropFirst(Self.declared.count)) }
  }
}

extension BackupManifest {
  /// The size of a file other than the store, in bytes, is at most this.
  package static let fileLimit = 1 << 20

  /// Whether a backup may have a file: one of the gateway's own, or a declared one inside its folder.
  private static func isExpected(_ entry: Entry, _ settings: [String]) -> Bool {
    if entry.name == store { return entry.size <= sizeLimit && entry.mode == 0o600 }
    guard entry.size <= fileLimit else { return false }
    if entry.name.hasPrefix(declared) { return isDeclaredName(entry.name) && entry.mode <= 0o777 }
    return entry.mode == 0o600 && ([key, login, restingLogin] + settings).contains(entry.name)
  }

  /// Whether a name is that of a declared file in a backup: at most 100 bytes, of words that lead to no other folder.
  package static func isDeclaredName(_ name: String) -> Bool {
    guard name.hasPrefix(declared), name.utf8.count <= TapeHeader.nameLimit, name.utf8.allSatisfy({ $0 >= 32 && $0 != 127 }) else {
      return false
    }
    return name.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { !["", ".", ".."].contains($0) }
  }
}

extension BackupManifest.Entry {
  fileprivate init?(_ line: Substring) {
    let words = line.split(separator: " ", maxSplits: 4, omittingEmptySubsequences: false)
    guard words.count == 5, words[0] == "file", let mode = UInt16(words[1], radix: 8), let size = Int(words[2]), size >= 0,
      size <= BackupManifest.sizeLimit, let digest = bytes(fromHex: words[3]), digest.count == 32
    else { return nil }
    self.init(name: String(words[4]), mode: mode, size: size, digest: digest)
  }
}
