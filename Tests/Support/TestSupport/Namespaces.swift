internal import CNamespace
internal import Glibc
internal import LinuxIO

/// Whether namespaces may be made here; what needs them is to be skipped where not.
package let canMakeNamespaces: Bool = (try? inNamespaces(mounts: true) {}) != nil

/// Runs the body on this thread in a network namespace of its own with nothing but loopback, and on request in a mount namespace; then
/// comes back. The body must not suspend: it is the thread that is in the namespace.
package func inNamespaces<Result>(mounts: Bool = false, _ body: () throws -> Result) throws -> Result {
  var home = cnamespace_home()
  guard cnamespace_enter(mounts ? 1 : 0, &home) == 0 else { throw SystemError.last("make a namespace") }
  defer { cnamespace_leave(&home) }
  return try body()
}

/// Mounts a file or folder over another, in a mount namespace of `inNamespaces`.
package func bind(_ source: String, over target: String) throws {
  guard cnamespace_bind(source, target) == 0 else { throw SystemError.last("mount over \(target)") }
}
