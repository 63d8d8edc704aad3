internal import Glibc

/// Whether a program can be started by this name: a path of an executable, or a name on PATH.
package func isOnPath(_ program: String) -> Bool {
  if program.contains("/") { return access(program, X_OK) == 0 }
  let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
  return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
}

/// The path of one of our programs, for a start now; else its name, for a search on PATH.
package func ownProgram(_ name: String) -> String {
  var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
  let count = buffer.withUnsafeMutableBytes {
    guard let base = $0.assumingMemoryBound(to: CChar.self).baseAddress else { return 0 }
    return readlink("/proc/self/exe", base, $0.count)
  }
  guard count > 0 else { return name }
  let folder = Folder.parent(of: String(decoding: buffer.prefix(count), as: UTF8.self))
  return placesOfOwnProgram(name, from: folder).first { access($0, X_OK) == 0 } ?? name
}

/// The places where one of our programs may be, the likeliest first. `folder`: that of the running one.
///
/// As installed (`packaging/content`), helpers, not run by hand, are in `libexec/roamward` of a prefix, all others in its `bin` and
/// `sbin`. As built, all are in one folder. The first release had helpers in `sbin`: its agent or gateway, if it runs while the package is
/// upgraded, does not find a helper that has to be started again. It waits as after any failed start, until the package is configured,
/// which restarts it. Programs of later versions look at each start, and find what is there.
func placesOfOwnProgram(_ name: String, from folder: String) -> [String] {
  let helpers = "/libexec/roamward"
  let prefix = folder.hasSuffix(helpers) ? String(folder.dropLast(helpers.count)) : Folder.parent(of: folder)
  return ["\(prefix)\(helpers)/\(name)", "\(folder)/\(name)", "\(prefix)/sbin/\(name)"]
}
