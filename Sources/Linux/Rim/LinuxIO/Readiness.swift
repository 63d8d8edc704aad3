internal import CLinux

/// The `EPOLL*` bits of epoll_ctl(2).
package enum Readiness {
  package static let readable = UInt32(EPOLLIN.rawValue)
  package static let writable = UInt32(EPOLLOUT.rawValue)
  /// EPOLLHUP and EPOLLERR: the other end is gone.
  package static let ended = UInt32(EPOLLHUP.rawValue) | UInt32(EPOLLERR.rawValue)
}
