internal import CLinux
internal import Glibc
internal import NetworkTypes

/// Folders on disk.
package enum Folder {
  /// Creates a folder with this mode if it is missing, and its parents with 0755, whatever the umask.
  package static func make(_ path: String, mode: UInt32) throws(SystemError) {
    var made = path.hasPrefix("/") ? "" : "."
    let parts = path.split(separator: "/")
    for (i, part) in parts.enumerated() {
      made += "/" + part
      let own = i == parts.count - 1 ? mode : 0o755
      if mkdir(made, own) == 0 {
        chmod(made, own)
      } else if errno != EEXIST {
        throw .last("make \(made)")
      }
    }
  }

  /// The folder that contains a path's last component.
  package static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Gives a finished file beside its place its name. `replacing`: another file of this name is replaced; otherwise it stays (EEXIST).
  package static func put(_ temporary: String, at path: String, replacing: Bool) throws(SystemError) {
    if replacing || clinux_rename_to_new(temporary, path) != 0 {
      // Not every file system can refuse to replace.
      guard replacing || ((errno == EINVAL || errno == ENOSYS) && access(path, F_OK) != 0) else { throw .last("create \(path)") }
      guard rename(temporary, path) == 0 else { throw .last("create \(path)") }
    }
    TextFile.syncFolder(of: path)
  }

  /// The names of the folders in a folder, in no order; none if it cannot be read.
  static func folders(in path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      guard Int32(entry.pointee.d_type) == Int32(DT_DIR) else { continue }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// The names that begin with a prefix, sorted; none if the folder cannot be read.
  package static func names(in path: String, withPrefix prefix: String = "") -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name.hasPrefix(prefix), name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }
}
