internal import Glibc

/// The time that the machine has slept since boot: CLOCK_BOOTTIME minus CLOCK_MONOTONIC.
package var timeAsleep: Duration {
  func read(_ clock: clockid_t) -> Duration {
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
  let monotonic = read(CLOCK_MONOTONIC)
  return read(CLOCK_BOOTTIME) - monotonic
}

/// The number of the machine's present boot (boot_id of random(4)); another one after each start.
package var bootID: String {
  String(decoding: ((try? TextFile.read("/proc/sys/kernel/random/boot_id")) ?? []).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
}
