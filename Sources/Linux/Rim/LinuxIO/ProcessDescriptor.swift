internal import CLinux
internal import Glibc

/// A descriptor of a process (pidfd_open(2)), readable when the process has ended. The number of an ended process may become another
/// one's; the descriptor stays that of this one.
package struct ProcessDescriptor {
  package let descriptor: FileDescriptor

  package init(_ process: Int32) throws(SystemError) {
    let number = clinux_process(process)
    guard number >= 0 else { throw .last("find process \(process)") }
    descriptor = FileDescriptor(owning: number)
  }

  /// The process that connected to the other end of a unix socket. ENOPROTOOPT: the kernel is older than Linux 6.5; other errors: the
  /// process has ended.
  package init(ofPeerOf socket: FileDescriptor) throws(SystemError) {
    let number = clinux_peer_process(socket.number)
    guard number >= 0 else { throw .last("find the peer's process") }
    descriptor = FileDescriptor(owning: number)
  }

  package var hasEnded: Bool {
    var poller = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
    return poll(&poller, 1, 0) != 0
  }
}
