internal import CLinux
internal import Glibc
package import NetworkTypes

/// Gives way to other threads until this time is over, without a sleep: to fall asleep and to wake up can take a processor 0.3 ms. For
/// waits below a millisecond.
package func giveWay(for duration: Duration) {
  let end = Moment.now + duration
  while .now < end { sched_yield() }
}

extension Moment {
  package static var now: Moment {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Moment(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
  }
}
