internal import Glibc

/// A failed system call: the operation, and `errno` of errno(3).
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  package let code: Int32
  package let operation: String

  package init(code: Int32, operation: String) {
    self.code = code
    self.operation = operation
  }

  /// The error of the calling thread's `errno`: to be created before anything else may change it.
  package static func last(_ operation: String) -> SystemError { SystemError(code: errno, operation: operation) }

  package var reason: String { Self.words(code) }

  /// The C library's text for the code, and the remedy if an administrator's limit is too low.
  package static func words(_ code: Int32) -> String {
    let words = strerror(code).map { String(cString: $0) } ?? "error \(code)"
    return switch code {
    case EMFILE: words + "; cure: allow this program more (LimitNOFILE= of its unit, or ulimit -n)"
    case ENFILE: words + "; cure: allow this machine more (sysctl fs.file-max)"
    default: words
    }
  }

  /// Whether the program, or the machine, has no free descriptor.
  package var isShortage: Bool { code == EMFILE || code == ENFILE }

  package var description: String { "\(operation): \(reason)" }
}
