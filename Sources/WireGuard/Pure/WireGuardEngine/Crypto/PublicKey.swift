/// A Curve25519 point, 32 bytes, stored in four words to compare and hash it without an array.
public struct PublicKey: Hashable, Sendable {
  private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

  init() {}

  /// `nil` unless there are 32 bytes. Not every point is a usable key: with a point of low order every handshake fails.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    Swift.withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes) }
  }

  init(_ source: UnsafeRawPointer) {
    Swift.withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: UnsafeRawBufferPointer(start: source, count: 32)) }
  }

  /// The bytes as on the wire.
  public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { try Swift.withUnsafeBytes(of: words, body) }

  /// Passes the 32 bytes to the body, writable.
  mutating func withUnsafeMutableBytes<R>(_ body: (UnsafeMutableRawBufferPointer) throws -> R) rethrows -> R {
    try Swift.withUnsafeMutableBytes(of: &words, body)
  }

  public static func == (a: Self, b: Self) -> Bool { a.words == b.words }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
    hasher.combine(words.2)
    hasher.combine(words.3)
  }
}
