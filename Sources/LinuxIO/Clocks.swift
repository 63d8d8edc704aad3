internal import Glibc

/// How long the machine has slept since it started: what CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC.
package var timeAsleep: Duration {
  func read(_ clock: clockid_t) -> Duration {
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
  let monotonic = read(CLOCK_MONOTONIC)
  return read(CLOCK_BOOTTIME) - monotonic
}
