internal import CWireGuardIO
internal import Glibc
package import LinuxIO

/// The source of sockets for an interface without privileges. The interface sends a port, a mark and a number of pairs over a socket pair
/// and receives as many pairs of descriptors.
///
/// A request is twelve bytes, three 32-bit numbers in the machine's byte order. The answer is either descriptors, IPv4 first in each pair,
/// or four bytes with an `errno` value. An eventfd stands for a family that the machine does not have.
package struct SocketSource {
  private static let patience: Int32 = 2000

  private let channel: FileDescriptor

  package init(_ channel: FileDescriptor) { self.channel = channel }

  /// Both ends of a channel: non-blocking, close-on-exec, with message boundaries preserved.
  package static func channel() throws(SystemError) -> (FileDescriptor, FileDescriptor) {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw .last("make a socket pair") }
    return (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
  }

  /// Requests sockets and waits for the answer, for at most two seconds.
  package func sockets(port: UInt16, mark: UInt32, pairs: Int = 1) throws(SystemError) -> TunnelSockets {
    forgetLateAnswers()
    let asked = [UInt32(port), mark, UInt32(pairs)].withUnsafeBytes { send(channel.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    guard asked == 12 else { throw .last("ask for sockets") }
    var watched = pollfd(fd: channel.number, events: Int16(POLLIN), revents: 0)
    guard poll(&watched, 1, Self.patience) > 0 else { throw SystemError(code: ETIMEDOUT, operation: "ask for sockets") }
    var numbers = [Int32](repeating: -1, count: Int(CWG_DESCRIPTORS))
    var code: Int32 = 0
    let count = Int(cwg_take_descriptors(channel.number, &numbers, Int32(numbers.count), &code))
    let given = numbers.prefix(max(0, count)).map { FileDescriptor(owning: $0) }
    guard count == 2 * pairs else { throw SystemError(code: code != 0 ? code : EPIPE, operation: "be given sockets") }
    let sockets = given.map { $0.isSocket ? $0 : nil }
    return TunnelSockets((0..<pairs).map { TunnelSockets.Pair(v4: sockets[2 * $0], v6: sockets[2 * $0 + 1]) })
  }

  /// Removes late answers: they belong to an earlier request that timed out.
  private func forgetLateAnswers() {
    while true {
      var numbers = [Int32](repeating: -1, count: Int(CWG_DESCRIPTORS))
      var code: Int32 = 0
      let count = cwg_take_descriptors(channel.number, &numbers, Int32(numbers.count), &code)
      if count < 0 { return }
      for number in numbers where number >= 0 { close(number) }
      // The other end is closed: from now on every read says so.
      if count == 0, code == 0 { return }
    }
  }

  /// The other end: answers one pending request, with sockets of the reserve if it has them. False if the interface is gone.
  package func serve(from reserve: SocketReserve? = nil) -> Bool {
    var request: [UInt32] = [0, 0, 0]
    let count = request.withUnsafeMutableBytes { recv(channel.number, $0.baseAddress, $0.count, 0) }
    if count < 0 { return errno == EAGAIN || errno == EINTR }
    guard count == 12, let port = UInt16(exactly: request[0]), (1...InterfaceProcess.mostPairs).contains(Int(request[2])) else {
      return false
    }
    do throws(SystemError) {
      let (mark, pairs) = (request[1], Int(request[2]))
      var sockets = reserve?.take(port: port, mark: mark, pairs: pairs)
      if sockets == nil { sockets = try TunnelSockets.make(port: port, mark: mark, pairs: pairs) }
      let given = sockets?.pairs ?? []
      let nothing = FileDescriptor(owning: cwg_event())
      let numbers = given.flatMap { [($0.v4 ?? nothing).number, ($0.v6 ?? nothing).number] }
      // The optimizer would close them before.
      _ = withExtendedLifetime((given, nothing)) { cwg_send_descriptors(channel.number, numbers, Int32(numbers.count)) }
    } catch {
      var code = error.code
      send(channel.number, &code, 4, Int32(MSG_NOSIGNAL))
    }
    return true
  }
}

extension FileDescriptor {
  fileprivate var isSocket: Bool {
    var kind: Int32 = 0
    var length = socklen_t(4)
    return getsockopt(number, SOL_SOCKET, SO_TYPE, &kind, &length) == 0
  }
}
