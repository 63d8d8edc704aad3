internal import Glibc

/// A system call that failed: what was attempted, and `errno` of errno(3).
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  package let code: Int32
  package let operation: String

  package init(code: Int32, operation: String) {
    self.code = code
    self.operation = operation
  }

  /// From the calling thread's `errno`: to be made before anything else may change it.
  package static func last(_ operation: String) -> SystemError { SystemError(code: errno, operation: operation) }

  /// The C library's words for the code.
  package var reason: String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }

  package var description: String { "\(operation): \(reason)" }
}
