internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import Wire

/// The sockets of this network namespace that receive at a port, from the kernel (sock_diag(7)): every user may ask for them.
enum SocketTable {
  /// `NETLINK_SOCK_DIAG` of linux/netlink.h.
  private static let family: Int32 = 4

  /// The sockets of both families, of UDP and TCP or one of them; empty if the kernel does not answer. Port 0: all ports.
  static func sockets(at port: UInt16, streams: [Bool] = [false, true]) -> [ListeningSocket] {
    guard let socket = open() else { return [] }
    var found: [ListeningSocket] = []
    var sequence: UInt32 = 0
    for isStream in streams {
      for family in IPAddress.Family.allCases {
        sequence += 1
        var request = NetlinkWriter()
        request.dumpListeningSockets(family, isStream: isStream, port: port, sequence: sequence)
        guard (try? socket.write(request.bytes[...])) == request.bytes.count else { continue }
        found += answer(sequence, of: socket) { ListeningSocket($0) } ?? []
      }
    }
    return found.filter { $0.port == port || port == 0 }
  }

  /// The findings of `read` in each connection, of UDP too; `nil`: the kernel does not answer to the end.
  static func connections<Found>(_ read: (NetlinkMessage) -> Found?) -> [Found]? {
    guard let socket = open() else { return nil }
    var found: [Found] = []
    var sequence: UInt32 = 0
    for isStream in [false, true] {
      for family in IPAddress.Family.allCases {
        sequence += 1
        var request = NetlinkWriter()
        SocketDiagnosis.dumpConnections(family, isStream: isStream, sequence: sequence, &request)
        guard (try? socket.write(request.bytes[...])) == request.bytes.count, let part = answer(sequence, of: socket, read) else {
          return nil
        }
        found += part
      }
    }
    return found
  }

  private static func open() -> FileDescriptor? {
    let number = socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), family)
    guard number >= 0 else { return nil }
    var limit = timeval(tv_sec: 1, tv_usec: 0)
    setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    return FileDescriptor(owning: number)
  }

  /// The rest of one dump; `nil`: it has no end, or is an error.
  private static func answer<Found>(_ sequence: UInt32, of socket: FileDescriptor, _ read: (NetlinkMessage) -> Found?) -> [Found]? {
    var found: [Found] = []
    while let datagram = try? socket.read(), !datagram.isEmpty {
      for message in NetlinkMessages(datagram) where message.sequence == sequence {
        if message.type == NetlinkMessage.errorType { return nil }
        if message.type == NetlinkMessage.doneType { return found }
        if let one = read(message) { found.append(one) }
      }
    }
    return nil
  }
}
