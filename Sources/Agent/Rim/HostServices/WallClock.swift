internal import Glibc

extension Int64 {
  /// Seconds since 1970.
  static var wallClock: Int64 { Int64(time(nil)) }
}
