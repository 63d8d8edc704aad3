import CWireGuardIO
import Glibc
import LinuxIO
import Testing
import WireGuardControl

/// The kernel passes each session's datagrams to the same socket of a port.
@Suite("Steering of datagrams")
struct SteeringTests {
  @Test("by the shard in the receiver index; handshakes go to the first socket", arguments: [AF_INET, AF_INET6], [2, 3, 4])
  func sockets(family: Int32, pairs: Int) throws {
    let sockets = try TunnelSockets.make(port: 0, mark: 0, pairs: pairs)
    defer { withExtendedLifetime(sockets) {} }
    #expect(sockets.pairs.count == pairs)
    let ends = sockets.pairs.compactMap { (family == AF_INET ? $0.v4 : $0.v6)?.number }
    if ends.isEmpty { return #expect(family == AF_INET6) }
    #expect(Set(ends.map { cwg_udp_port($0) }) == [sockets.port])
    let sender = FileDescriptor(owning: socket(family, Int32(SOCK_DGRAM.rawValue), 0))
    let shards = pairs == 2 ? 2 : 4
    for index in [0, 1, 2, 3, 0x80, 0xfe, 0xff, 0x1234_5601, 0xffff_ff00] as [UInt32] {
      let datagram = [4, 0, 0, 0] + (0..<4).map { UInt8(truncatingIfNeeded: index >> (8 * $0)) } + [UInt8](repeating: 7, count: 24)
      try send(datagram, by: sender, family, sockets.port)
      #expect(receiver(among: ends) == Int(index) & (shards - 1) % pairs, "index \(index)")
    }
    // The sender's index is not the receiver's.
    for kind in 1...3 as ClosedRange<UInt8> {
      try send([kind, 0, 0, 0] + [UInt8](repeating: 0xff, count: 144), by: sender, family, sockets.port)
      #expect(receiver(among: ends) == 0, "kind \(kind)")
    }
    for short in [[4], [4, 0, 0, 0], [0], []] as [[UInt8]] {
      try send(short, by: sender, family, sockets.port)
      #expect(receiver(among: ends) == 0, "\(short)")
    }
  }

  @Test("the port is not shared with another interface") func exclusive() throws {
    let sockets = try TunnelSockets.make(port: 0, mark: 0, pairs: 2)
    defer { withExtendedLifetime(sockets) {} }
    for pairs in [1, 2] {
      let failure = #expect(throws: SystemError.self) { try TunnelSockets.make(port: sockets.port, mark: 0, pairs: pairs) }
      #expect(failure?.code == EADDRINUSE)
    }
  }

  @Test("an interface gets as many sockets as it asks for", arguments: [1, 2, 16]) func requests(pairs: Int) throws {
    let (ours, theirs) = try SocketSource.channel()
    let (agent, interface) = (SocketSource(ours), SocketSource(theirs))
    let server = Server(agent, ours.number)
    let sockets = try interface.sockets(port: 0, mark: 0, pairs: pairs)
    #expect(sockets.pairs.count == pairs && sockets.port != 0)
    #expect(sockets.pairs.allSatisfy { $0.v4 != nil })
    server.join()
  }

  /// Answers one request, as the agent does.
  private final class Server: @unchecked Sendable {
    private var thread = pthread_t()
    private let source: SocketSource
    private let number: Int32

    init(_ source: SocketSource, _ number: Int32) {
      self.source = source
      self.number = number
      pthread_create(
        &thread, nil,
        { context in
          let server = Unmanaged<Server>.fromOpaque(context.unsafelyUnwrapped).takeRetainedValue()
          var watched = pollfd(fd: server.number, events: Int16(POLLIN), revents: 0)
          poll(&watched, 1, 10_000)
          _ = server.source.serve()
          return nil
        }, Unmanaged.passRetained(self).toOpaque())
    }

    func join() { pthread_join(thread, nil) }
  }

  /// The number of the socket that has one datagram.
  private func receiver(among ends: [Int32]) -> Int? {
    var watched = ends.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard poll(&watched, nfds_t(watched.count), 5_000) == 1, let index = watched.firstIndex(where: { $0.revents != 0 }) else { return nil }
    var byte: UInt8 = 0
    recv(ends[index], &byte, 1, Int32(MSG_DONTWAIT))
    return index
  }

  private func send(_ bytes: [UInt8], by sender: FileDescriptor, _ family: Int32, _ port: UInt16) throws {
    let sent: Int
    if family == AF_INET {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
      sent = withUnsafeBytes(of: &address) {
        sendto(sender.number, bytes, bytes.count, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 16)
      }
    } else {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      address.sin6_addr = in6addr_loopback
      sent = withUnsafeBytes(of: &address) {
        sendto(sender.number, bytes, bytes.count, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 28)
      }
    }
    try #require(sent == bytes.count, "\(errno)")
  }
}
