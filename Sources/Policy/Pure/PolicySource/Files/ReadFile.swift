internal import KeyMemory
internal import PolicyFiles

/// A file that is part of a policy set: a policy file, or a file that a policy names.
///
/// Copies share their storage, so that thousands of unchanged files are copied and compared quickly.
package struct ReadFile: Hashable, Sendable {
  private final class Storage: Sendable {
    let path: String
    let contents: SealedBytes
    let names: [String]

    init(path: String, contents: SealedBytes, names: [String]) {
      self.path = path
      self.contents = contents
      self.names = names
    }
  }

  private let storage: Storage

  package init(path: String, bytes: [UInt8], names: [String] = []) {
    storage = Storage(path: path, contents: SealedBytes(bytes), names: names)
  }

  /// The path as the layers name it; absolute if another file names it.
  package var path: String { storage.path }
  /// The files that it names.
  package var names: [String] { storage.names }
  /// The file's bytes, which may contain keys: they are stored sealed, and opened on each access.
  package var bytes: [UInt8] { storage.contents.opened }

  package static func == (a: ReadFile, b: ReadFile) -> Bool {
    a.storage === b.storage || a.path == b.path && a.storage.contents == b.storage.contents && a.names == b.names
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(path)
    hasher.combine(storage.contents)
    hasher.combine(names)
  }
}

/// An access to a file: its absolute path, and the version that was read; `nil` if it could not be read, or has no version.
struct FileInput: Equatable, Sendable {
  let path: String
  let version: FileVersion?
  /// Whether only root can have put it there; of interest to an agent that runs as root.
  var isTrusted = true
}
