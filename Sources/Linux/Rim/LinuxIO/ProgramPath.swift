internal import Glibc

/// Whether a program can be started by this name: a path of an executable, or a name on PATH.
package func isOnPath(_ program: String) -> Bool {
  if program.contains("/") { return access(program, X_OK) == 0 }
  let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
  return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
}

/// The path of one of our programs: beside the running one, as all are built; in the folder `sbin` beside that folder, as installed; else
/// its name, for a search on PATH.
package func programBeside(_ name: String) -> String {
  var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
  let count = buffer.withUnsafeMutableBytes {
    guard let base = $0.assumingMemoryBound(to: CChar.self).baseAddress else { return 0 }
    return readlink("/proc/self/exe", base, $0.count)
  }
  guard count > 0 else { return name }
  let folder = Folder.parent(of: String(decoding: buffer.prefix(count), as: UTF8.self))
  let places = ["\(folder)/\(name)", "\(Folder.parent(of: folder))/sbin/\(name)"]
  return places.first { access($0, X_OK) == 0 } ?? name
}
