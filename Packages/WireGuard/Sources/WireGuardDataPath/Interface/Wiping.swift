internal import Glibc

extension [UInt8] {
  /// Makes every byte zero, in a way that the compiler does not leave out.
  mutating func wipe(first count: Int? = nil) {
    withUnsafeMutableBytes { if let base = $0.baseAddress { explicit_bzero(base, Swift.min(count ?? $0.count, $0.count)) } }
  }
}
