package import LinuxIO

/// Why resolv.conf could not be written or given back.
package enum ResolvConfError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It belongs to somebody else, or cannot be written.
  case untouchable(reason: String)
  case system(SystemError)
  /// The kept original, at this path, is not as it was written.
  case damaged(String)

  package var description: String {
    switch self {
    case .untouchable(let reason): reason
    case .system(let error): error.description
    case .damaged(let path): "\(path), the copy of the original resolv.conf, is damaged"
    }
  }
}
