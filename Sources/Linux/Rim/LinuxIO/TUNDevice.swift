internal import CLinux
internal import Glibc

/// TUN devices that stay without a program (tun(4), `TUNSETPERSIST`): packets into one are lost rather than routed elsewhere.
package enum TUNDevice {
  /// Makes a device. Only root and this user may attach a program to it.
  package static func make(_ name: String, user: UInt32) throws(SystemError) {
    let number = clinux_open_tun(name)
    guard number >= 0 else { throw .last("open /dev/net/tun as \(name)") }
    defer { close(number) }
    guard clinux_keep_tun(number, user) == 0 else { throw .last("keep the TUN device \(name)") }
  }

  /// Attaches to a device that exists: each read and each write is one IP packet. Non-blocking.
  package static func attach(to name: String) throws(SystemError) -> FileDescriptor {
    guard if_nametoindex(name) != 0 else { throw SystemError(code: ENODEV, operation: "attach to \(name)") }
    let number = clinux_open_tun(name)
    guard number >= 0 else { throw .last("attach to the TUN device \(name)") }
    return FileDescriptor(owning: number)
  }
}
