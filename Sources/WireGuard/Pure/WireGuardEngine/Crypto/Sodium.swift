internal import CSodium

/// The initialization of libsodium, once before any other call. It selects the fastest code for this processor.
enum Sodium {
  private static let isReady = sodium_init() >= 0

  static func start() { precondition(isReady, "libsodium does not start") }
}

extension UnsafeMutableRawPointer {
  package var octets: UnsafeMutablePointer<UInt8> { assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeRawPointer {
  package var octets: UnsafePointer<UInt8> { assumingMemoryBound(to: UInt8.self) }
}
