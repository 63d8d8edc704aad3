internal import CLinux
internal import Glibc

/// The privileges of this process in its network namespace, and those of other processes over this one.
package enum Privileges {
  /// Disables core dumps and access by other processes of its user (ptrace(2)), because keys are in its memory.
  package static func forbidDumps() { _ = clinux_forbid_dumps() }

  /// Sends a signal to a process, or to a process group (negative), also of another user: without CAP_KILL, root does so as that user, on a
  /// program's only thread. Returns whether the signal was sent.
  @discardableResult
  package static func signal(_ process: Int32, _ number: Int32) -> Bool {
    if Glibc.kill(process, number) == 0 { return true }
    guard errno == EPERM, geteuid() == 0, let user = user(of: abs(process)) else { return false }
    return asUser(user) { Glibc.kill(process, number) == 0 } ?? false
  }

  /// The user of a process, of whom it may not be another one again: the saved one.
  private static func user(of process: Int32) -> UInt32? {
    guard let bytes = try? TextFile.read("/proc/\(process)/status", limit: 65_536) else { return nil }
    let line = bytes.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "Uid:".utf8) }
    let saved = line?.split(separator: UInt8(ascii: "\t")).dropFirst(3).first
    return saved.flatMap { UInt32(String(decoding: $0, as: UTF8.self)) }
  }

  /// Hides files from this process, which has one thread, and from all that it starts: an empty file lies over each. Unless root does it,
  /// this takes a user namespace, in which a program gets no other user's rights (setuid).
  package static func hide(_ paths: [String]) throws(SystemError) {
    let texts = paths.map { strdup($0) }
    defer { for text in texts { free(text) } }
    let result = texts.map { UnsafePointer($0) }.withUnsafeBufferPointer { clinux_hide_files($0.baseAddress, UInt32($0.count)) }
    guard result == 0 else { throw .last("hide \(paths.joined(separator: " and "))") }
  }

  /// Does something as another user and group: root alone can, and comes back. `nil`: it cannot. The program must have one thread.
  package static func asUser<Value>(_ user: UInt32, group: UInt32? = nil, _ body: () -> Value) -> Value? {
    guard group.map({ setegid($0) == 0 }) ?? true else { return nil }
    defer { if group != nil, setegid(0) != 0 { abort() } }
    guard seteuid(user) == 0 else { return nil }
    // The real user is still root: this cannot be refused, and the capabilities return.
    defer { if seteuid(0) != 0 { abort() } }
    return body()
  }

  /// Whether the processes that it starts can become other users (CAP_SETUID, CAP_SETGID).
  package static var canChangeUser: Bool {
    clinux_has_capability(7 /* CAP_SETUID */) == 1 && clinux_has_capability(6 /* CAP_SETGID */) == 1
  }

  /// Whether it has CAP_NET_ADMIN there: in its own user namespace alone it would have no effect.
  package static var canChangeNetwork: Bool {
    guard clinux_has_capability(12 /* CAP_NET_ADMIN */) == 1 else { return false }
    let number = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { return true }
    let socket = FileDescriptor(owning: number)
    return clinux_set_mark(socket.number, 1) == 0
  }
}
