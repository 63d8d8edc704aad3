internal import CLinux
internal import Glibc
package import LinuxIO

extension EventLoop {
  /// Calls back when the wall clock has been set: by a timer that the kernel cancels then (`TFD_TIMER_CANCEL_ON_SET` of timerfd_create(2)).
  /// Slewing, as by time services, is no event.
  package func onClockChange(_ handler: @escaping () -> Void) throws(SystemError) -> EventSource {
    let number = clinux_clock_change_timer()
    guard number >= 0 else { throw .last("watch the clock") }
    let timer = FileDescriptor(owning: number)
    return try whenReadable(number) {
      // The read returns ECANCELED, and re-arms it.
      _ = try? timer.read(atMost: 8)
      handler()
    }
  }
}
