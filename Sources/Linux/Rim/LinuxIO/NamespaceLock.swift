internal import CLinux
internal import Glibc
internal import NetworkTypes

/// Prevents a second agent in a network namespace, whatever its state folder: both would change the same links, routes and rules.
///
/// The lock is a listening unix socket with an abstract name. Each network namespace has its own names (unix(7)), and the socket ends with
/// its process. Every user can take any such name. So the name ends with random characters, and a holder is found by its prefix in
/// /proc/net/unix. It counts only if root or our own user listens there (SO_PEERCRED); other users' sockets are ignored.
package final class NamespaceLock {
  private static let prefix = "roamwardd-lock-"

  private let socket: FileDescriptor

  /// Takes the lock. A holder that is being killed may last a moment, because a child shares its descriptors until exec(2).
  package init(patience: Duration = .seconds(1)) throws(SystemError) {
    let name = Self.prefix + String(UInt64.random(in: .min ... .max), radix: 16)
    socket = try FileDescriptor.listen(atAbstract: name)
    let deadline = Moment.now + patience
    while let holder = Self.holder(except: name) {
      guard Moment.now < deadline else {
        let who = holder.process > 0 ? " (process \(holder.process))" : ""
        throw SystemError(code: EBUSY, operation: "start: another agent\(who) runs in this network namespace")
      }
      usleep(20_000)
    }
  }

  /// The descriptor to watch: pending connections have to be closed, so that the queue does not fill (`drain`).
  package var descriptor: Int32 { socket.number }

  /// Closes a few connections.
  package func drain() {
    for _ in 0..<16 { if (try? socket.accept()) == nil { return } }
  }

  /// The agent of this network namespace, if there is one.
  package static var holder: PeerCredentials? { holder(except: nil) }

  private static func holder(except own: String?) -> PeerCredentials? {
    guard let text = try? TextFile.read("/proc/thread-self/net/unix", limit: 1 << 26) else { return nil }
    var asked = Set<String>()
    for line in text.split(separator: 10) where line.contains(UInt8(ascii: "@")) {
      guard let word = line.split(separator: 32).last, word.first == UInt8(ascii: "@") else { continue }
      let name = String(decoding: word.dropFirst(), as: UTF8.self)
      guard name.hasPrefix(prefix), name != own, asked.insert(name).inserted else { continue }
      guard let peer = try? FileDescriptor.connect(toAbstract: name).peer else { continue }
      if peer.user == 0 || peer.user == geteuid() { return peer }
    }
    return nil
  }
}

extension FileDescriptor {
  fileprivate static func listen(atAbstract name: String) throws(SystemError) -> FileDescriptor {
    let socket = try localSocket(nonBlocking: true)
    guard clinux_unix_bind_abstract(socket.number, name) == 0, Glibc.listen(socket.number, 64) == 0 else { throw .last("take the lock") }
    return socket
  }

  fileprivate static func connect(toAbstract name: String) throws(SystemError) -> FileDescriptor {
    let socket = try localSocket(nonBlocking: true)
    guard clinux_unix_connect_abstract(socket.number, name) == 0 else { throw .last("look at a lock") }
    return socket
  }
}
