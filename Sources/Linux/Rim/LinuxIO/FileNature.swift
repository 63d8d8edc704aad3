internal import CLinux
internal import Glibc

/// The type of the object at a path, without reading it.
package enum FileNature {
  /// The target of a symbolic link, as written; `nil` if the path is none.
  package static func linkTarget(of path: String) -> String? {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = bytes.withUnsafeMutableBytes { buffer in buffer.baseAddress.map { readlink(path, $0, buffer.count) } ?? -1 }
    return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Whether the file is immutable, for root too (chattr(1), +i).
  package static func isImmutable(_ path: String) -> Bool { clinux_is_immutable(path) != 0 }
}
