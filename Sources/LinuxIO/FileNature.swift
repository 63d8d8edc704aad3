internal import CLinux
internal import Glibc

/// What a path is, without looking into it.
package enum FileNature {
  /// Where a symbolic link leads, as it is written; `nil` where the path is none.
  package static func linkTarget(of path: String) -> String? {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = bytes.withUnsafeMutableBytes { buffer in buffer.baseAddress.map { readlink(path, $0, buffer.count) } ?? -1 }
    return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Whether nobody may change it, root neither (chattr(1), +i).
  package static func isImmutable(_ path: String) -> Bool { clinux_is_immutable(path) != 0 }
}
