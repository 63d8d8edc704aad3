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

  package var reason: String { Self.words(code) }

  /// The C library's words for the code, and the cure of what an administrator has set too low.
  package static func words(_ code: Int32) -> String {
    let words = strerror(code).map { String(cString: $0) } ?? "error \(code)"
    return switch code {
    case EMFILE: words + "; cure: allow this program more (LimitNOFILE= of its unit, or ulimit -n)"
    case ENFILE: words + "; cure: allow this machine more (sysctl fs.file-max)"
    default: words
    }
  }

  /// Whether the program, or the machine, has no descriptor left.
  package var isShortage: Bool { code == EMFILE || code == ENFILE }

  package var description: String { "\(operation): \(reason)" }
}
