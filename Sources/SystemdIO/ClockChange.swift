internal import CLinux
internal import Glibc
package import LinuxIO

extension EventLoop {
  /// Calls back when the clock on the wall has been set: a timer that the kernel cancels then (`TFD_TIMER_CANCEL_ON_SET` of
  /// timerfd_create(2)). A clock that is only made faster or slower, as time services do it, is no event.
  package func onClockChange(_ handler: @escaping () -> Void) throws(SystemError) -> EventSource {
    let number = clinux_clock_change_timer()
    guard number >= 0 else { throw .last("watch the clock") }
    let timer = FileDescriptor(owning: number)
    return try whenReadable(number) {
      // Reading says ECANCELED, and arms it for the next time.
      _ = try? timer.read(atMost: 8)
      handler()
    }
  }
}
