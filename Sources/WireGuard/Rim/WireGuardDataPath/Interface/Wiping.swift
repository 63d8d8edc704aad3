internal import Glibc

extension [UInt8] {
  /// Sets every byte to zero, in a way that the compiler does not optimize away.
  mutating func wipe(first count: Int? = nil) {
    withUnsafeMutableBytes { if let base = $0.baseAddress { explicit_bzero(base, Swift.min(count ?? $0.count, $0.count)) } }
  }
}
