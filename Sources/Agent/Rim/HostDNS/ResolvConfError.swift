package import LinuxIO

/// The reason why resolv.conf could not be written or restored.
package enum ResolvConfError: Error, Equatable, Sendable, CustomStringConvertible {
  /// It belongs to another program, or cannot be written.
  case untouchable(reason: String)
  case system(SystemError)
  /// The stored original, at this path, is damaged.
  case damaged(String)

  package var description: String {
    switch self {
    case .untouchable(let reason): reason
    case .system(let error): error.description
    case .damaged(let path): "\(path), the copy of the original resolv.conf, is damaged"
    }
  }
}
