internal import CLinux
internal import Glibc
package import NetworkTypes

/// A UDP socket with a firewall mark (SO_MARK of socket(7)), which is connected to the address that it sends to: so the kernel reports what
/// came back of a datagram, too. Needs CAP_NET_ADMIN.
package final class MarkedDatagrams {
  private let file: FileDescriptor
  private let family: IPAddress.Family

  package init(_ family: IPAddress.Family, mark: UInt32) throws(SystemError) {
    let type = Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let number = socket(family == .v4 ? AF_INET : AF_INET6, type, 0)
    guard number >= 0 else { throw .last("make a UDP socket") }
    file = FileDescriptor(owning: number)
    self.family = family
    guard clinux_set_mark(number, mark) == 0 else { throw .last("mark a socket") }
  }

  /// Connects the socket, which sends nothing. Throws what keeps packets from a way there: ENETUNREACH, EHOSTUNREACH, EACCES or EINVAL.
  package func aim(at address: IPAddress, port: UInt16) throws(SystemError) {
    guard DatagramPort.withAddress(address, port, { connect(file.number, $0, $1) }) == 0 else {
      throw .last("reach \(address) port \(port)")
    }
  }

  /// Sends a datagram without waiting. Throws the kernel's refusal (EPERM: a firewall drops it), or the error that an earlier datagram met:
  /// ECONNREFUSED, EHOSTUNREACH.
  package func send(_ bytes: [UInt8]) throws(SystemError) {
    guard Glibc.send(file.number, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)) >= 0 else {
      throw .last("send a datagram")
    }
  }
}
