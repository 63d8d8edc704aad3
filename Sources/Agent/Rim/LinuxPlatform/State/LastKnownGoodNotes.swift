internal import ControlProtocol
internal import JSON
internal import NetworkTypes
internal import PolicySource

/// The two notes of the last known good policies. The note `policies` contains a whole set. The note `policies-changes` contains what has
/// changed since it was written, so that a change of one of thousands of files does not write all of them again.
///
/// Both notes name the number of the whole set. Changes of another set are void: they remain if the agent is killed between the two.
struct LastKnownGoodNotes {
  /// The largest size of a set that is always written as a whole, and the largest number of changes, in files.
  static let limit = 100

  /// The set that both notes together contain.
  private(set) var set: LastKnownGoodPolicies?
  /// Whether there is a note of changes.
  private(set) var hasChanges = false
  /// The content of the note `policies`; `nil` if there is none with a number, as earlier versions wrote it.
  private var whole: LastKnownGoodPolicies?
  /// The highest number in a note so far.
  private var number = 0

  init() {}

  init(_ notes: [String: JSON]) {
    let (wholeNote, changesNote) = (notes[LastKnownGoodPolicies.noteName], notes[LastKnownGoodPolicies.changesName])
    hasChanges = changesNote != nil
    let numbers = [wholeNote, changesNote].map { $0?["number"]?.integer.flatMap { Int(exactly: $0) } }
    number = numbers.compactMap { $0 }.max() ?? 0
    set = wholeNote.flatMap { LastKnownGoodPolicies($0) }
    guard let set, let current = numbers[0] else { return }
    // Changes may have a higher number only after damage to the whole set.
    if current == number { whole = set }
    guard numbers[1] == current, let changes = changesNote.flatMap({ LastKnownGoodChanges($0) }) else { return }
    self.set = set.applying(changes)
  }

  /// The changes as a note; `nil` if the whole set has to be written.
  ///
  /// It has to be if a file was removed, or if a file has changed that a policy names: the old version, which may contain a key, must not
  /// stay on disk.
  func changesNote(to set: LastKnownGoodPolicies) -> JSON? {
    guard let whole, set.files.count > Self.limit else { return nil }
    let changes = set.changes(since: whole)
    guard changes.count <= Self.limit, changes.removed.isEmpty else { return nil }
    let changed = Set(changes.files.map(\.file.path))
    guard !whole.files.values.contains(where: { $0.file.names.contains(where: changed.contains) }) else { return nil }
    return JSON(encoding: LastKnownGoodChangesNote(number: number, changes))
  }

  /// The note of the whole set.
  func wholeNote(of set: LastKnownGoodPolicies) -> JSON { JSON(encoding: LastKnownGoodNote(set, number: number + 1)) }

  /// Records that the note of the whole set is on disk.
  mutating func wroteWhole(_ set: LastKnownGoodPolicies) {
    number += 1
    whole = set
    self.set = set
  }

  /// Records that the note of changes is on disk, or removed.
  mutating func wroteChanges(to set: LastKnownGoodPolicies, isThere: Bool) {
    hasChanges = isThere
    self.set = set
  }
}

/// The set as notes. Text is stored as text, so that people can read it; other data in hexadecimal digits.
extension LastKnownGoodPolicies {
  static let noteName = "policies"
  static let changesName = "policies-changes"

  /// `nil` if it is no note of a whole set.
  fileprivate init?(_ note: JSON) {
    guard let note = try? note.decoded(as: LastKnownGoodNote.self) else { return nil }
    let files = note.files.compactMap(\.file)
    guard files.count == note.files.count else { return nil }
    self.init(files, since: note.since.time.seconds)
  }
}

/// The form of the note of a whole set. Times are in whole seconds.
private struct LastKnownGoodNote: Codable {
  /// Absent in notes of earlier versions.
  var number: Int?
  var since: NotedTime
  var files: [NotedFile]

  init(_ set: LastKnownGoodPolicies, number: Int) {
    self.number = number
    since = NotedTime(seconds: set.since)
    files = set.files.values.sorted { $0.file.path < $1.file.path }.map { NotedFile($0) }
  }
}

/// The form of the note of changes.
private struct LastKnownGoodChangesNote: Codable {
  var number: Int
  var since: NotedTime
  var files: [NotedFile]
  var removed: [String]

  init(number: Int, _ changes: LastKnownGoodChanges) {
    self.number = number
    since = NotedTime(seconds: changes.since)
    files = changes.files.sorted { $0.file.path < $1.file.path }.map { NotedFile($0) }
    removed = changes.removed.sorted()
  }
}

extension LastKnownGoodChanges {
  /// `nil` if it is no note of changes.
  fileprivate init?(_ note: JSON) {
    guard let note = try? note.decoded(as: LastKnownGoodChangesNote.self) else { return nil }
    let files = note.files.compactMap(\.file)
    guard files.count == note.files.count else { return nil }
    self.init(files: files, removed: note.removed, since: note.since.time.seconds)
  }
}

/// One file in either note.
private struct NotedFile: Codable {
  var path: String
  var since: NotedTime
  var names: [String]
  var text: String?
  /// In hexadecimal digits.
  var bytes: String?

  init(_ kept: LastKnownGoodPolicies.File) {
    path = kept.file.path
    since = NotedTime(seconds: kept.since)
    names = kept.file.names
    let bytes = kept.file.bytes
    text = String(validating: bytes, as: UTF8.self)
    self.bytes = text == nil ? bytes.map(hexadecimal).joined() : nil
  }

  /// `nil` if the note has no bytes.
  var file: LastKnownGoodPolicies.File? {
    guard let content = text.map({ Array($0.utf8) }) ?? bytes.flatMap({ NetworkTypes.bytes(fromHex: $0[...]) }) else { return nil }
    return LastKnownGoodPolicies.File(ReadFile(path: path, bytes: content, names: names), since: since.time.seconds)
  }
}
