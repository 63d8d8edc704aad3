internal import CSodium

/// libsodium chooses its fastest code for this processor once, before anything else of it is called.
enum Sodium {
  private static let isReady = sodium_init() >= 0

  static func start() { precondition(isReady, "libsodium does not start") }
}
