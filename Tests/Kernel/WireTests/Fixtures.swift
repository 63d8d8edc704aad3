/// Bytes from hexadecimal digits; line ends between them count for nothing.
func bytes(_ hex: String) -> [UInt8] {
  let digits = hex.utf8.filter { $0 > 0x20 }.map { $0 <= 57 ? $0 - 48 : ($0 | 0x20) - 87 }
  return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
