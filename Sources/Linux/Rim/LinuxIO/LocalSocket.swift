internal import CLinux
internal import Glibc

/// The credentials of a unix socket's peer, recorded by the kernel at the time of connecting (`SO_PEERCRED` of unix(7)).
package struct PeerCredentials: Hashable, Sendable {
  package let user: UInt32
  package let group: UInt32
  package let process: Int32
}

extension FileDescriptor {
  package var peer: PeerCredentials? {
    var (user, group, process): (uid_t, gid_t, pid_t) = (0, 0, 0)
    guard clinux_peer_credentials(number, &user, &group, &process) == 0 else { return nil }
    return PeerCredentials(user: user, group: group, process: process)
  }

  /// A stream connection to a unix socket; blocking by default.
  package static func connect(to path: String, nonBlocking: Bool = false) throws(SystemError) -> FileDescriptor {
    let socket = try localSocket(nonBlocking: nonBlocking)
    guard clinux_unix_connect(socket.number, path) == 0 else { throw .last("connect to \(path)") }
    return socket
  }

  /// A listening unix socket, created with the mode from its first instant. A dead socket at the path is replaced, a live one is not. At
  /// its path it listens from its first instant too: wg(8) removes one that does not, and others wait for the file and connect at once.
  package static func listen(at path: String, mode: UInt32) throws(SystemError) -> FileDescriptor {
    if let other = try? connect(to: path) {
      withExtendedLifetime(other) {}
      throw SystemError(code: EADDRINUSE, operation: "listen at \(path), where another agent answers")
    }
    let new = "\(path)~"
    unlink(new)
    let socket = try localSocket(nonBlocking: true)
    let before = umask(0o777 & ~mode)
    defer { umask(before) }
    guard clinux_unix_bind(socket.number, new) == 0 else { throw .last("listen at \(path)") }
    guard Glibc.listen(socket.number, 64) == 0, rename(new, path) == 0 else {
      let error = SystemError.last("listen at \(path)")
      unlink(new)
      throw error
    }
    return socket
  }

  /// Removes the socket file of a killed process, if no process listens on it any more.
  package static func removeDeadSocket(_ path: String) { if isDeadSocket(path) { unlink(path) } }

  package static func isDeadSocket(_ path: String) -> Bool {
    do throws(SystemError) {
      _ = try connect(to: path)
      return false
    } catch {
      return error.code == ECONNREFUSED
    }
  }

  /// The next pending connection, non-blocking; `nil` if there is none.
  package func accept() throws(SystemError) -> FileDescriptor? {
    let number = clinux_accept(self.number)
    if number >= 0 { return FileDescriptor(owning: number) }
    if [EAGAIN, EINTR, ECONNABORTED].contains(errno) { return nil }
    throw .last("accept")
  }

  static func localSocket(nonBlocking: Bool) throws(SystemError) -> FileDescriptor {
    let flags = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | (nonBlocking ? SOCK_NONBLOCK.rawValue : 0)
    let number = socket(AF_UNIX, Int32(flags), 0)
    guard number >= 0 else { throw .last("socket") }
    return FileDescriptor(owning: number)
  }
}
