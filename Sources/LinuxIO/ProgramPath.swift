internal import Glibc

/// Whether a program can be started by this name: a path that leads to one, or a name on PATH.
package func isOnPath(_ program: String) -> Bool {
  if program.contains("/") { return access(program, X_OK) == 0 }
  let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
  return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
}
