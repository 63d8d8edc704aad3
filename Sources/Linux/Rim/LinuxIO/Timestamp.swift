internal import CLinux
internal import Glibc
package import NetworkTypes

extension Timestamp {
  package static var now: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(milliseconds: Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000)
  }

  /// The local time for people: `2026-03-01 14:03:20`.
  package var localTime: String {
    var time = time_t(seconds)
    var parts = tm()
    localtime_r(&time, &parts)
    var buffer = [UInt8](repeating: 0, count: 32)
    let count = buffer.withUnsafeMutableBytes { strftime($0.baseAddress, $0.count, "%Y-%m-%d %H:%M:%S", &parts) }
    return String(decoding: buffer.prefix(count), as: UTF8.self)
  }

  /// The local time as timelines begin: `mon 14:03`.
  package var weekTime: String {
    var time = time_t(seconds)
    var parts = tm()
    localtime_r(&time, &parts)
    let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
    func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
    return "\(days[Int(parts.tm_wday) % 7]) \(two(parts.tm_hour)):\(two(parts.tm_min))"
  }
}
