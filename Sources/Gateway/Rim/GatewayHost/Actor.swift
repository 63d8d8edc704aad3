internal import Glibc
internal import LinuxIO

/// The person who runs a command, for the audit log: the user that logged in (loginuid of proc(5)), or the user of the process.
package enum Actor {
  package static var current: String {
    let text = (try? TextFile.read("/proc/self/loginuid", limit: 64)).map { String(decoding: $0, as: UTF8.self) }
    // 4294967295: a service, or a kernel without audit.
    let user = text.flatMap { UInt32($0.prefix { $0 != "\n" }) }.flatMap { $0 == .max ? nil : $0 } ?? getuid()
    let name = getpwuid(user).map { String(cString: $0.pointee.pw_name) }
    return name.map { "\($0) (\(user))" } ?? "\(user)"
  }
}
