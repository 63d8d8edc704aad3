internal import Glibc
package import LinuxIO
package import NetworkTypes

/// The kernel's forwarding of packets between links (`net.ipv4.ip_forward`, `net.ipv6.conf.all.forwarding`).
package enum Forwarding {
  private static func path(_ family: IPAddress.Family) -> String {
    "/proc/sys/net/" + (family == .v4 ? "ipv4/ip_forward" : "ipv6/conf/all/forwarding")
  }

  package static func isOn(_ family: IPAddress.Family) -> Bool { (try? TextFile.read(path(family), limit: 64))?.first == UInt8(ascii: "1") }

  /// Turns it on. It stays on after the gateway: other programs may rely on it by then.
  package static func turnOn(_ family: IPAddress.Family) throws(SystemError) {
    let number = open(path(family), O_WRONLY | O_CLOEXEC)
    guard number >= 0 else { throw .last("open \(path(family))") }
    try FileDescriptor(owning: number).writeAll(Array("1\n".utf8))
  }

  /// The name for sysctl(8).
  package static func name(_ family: IPAddress.Family) -> String {
    family == .v4 ? "net.ipv4.ip_forward" : "net.ipv6.conf.all.forwarding"
  }
}
