internal import Glibc
internal import LinuxIO

/// A new folder that goes, with all in it, when the value does.
package final class TemporaryFolder {
  package let path: String

  package init() throws {
    var template = Array("/tmp/roamward-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError.last("mkdtemp") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit { removeTree(path) }
}

/// The names in a folder, hidden files too, in order; none if there is no folder.
package func names(in folder: String) -> [String] {
  guard let stream = opendir(folder) else { return [] }
  defer { closedir(stream) }
  var names: [String] = []
  while let entry = readdir(stream) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
      pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != ".", name != ".." { names.append(name) }
  }
  return names.sorted()
}

private func removeTree(_ path: String) {
  // A link is unlinked, never entered.
  if unlink(path) == 0 { return }
  for name in names(in: path) { removeTree(path + "/" + name) }
  rmdir(path)
}
