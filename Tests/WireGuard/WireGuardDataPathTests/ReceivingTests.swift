import CWireGuardIO
import Glibc
import Testing

@testable import WireGuardDataPath

@Suite("Received datagrams")
struct ReceivingTests {
  @Test("tell for how long they lay in the socket", arguments: [AF_INET, AF_INET6])
  func waited(family: Int32) throws {
    let receiver = cwg_udp_open(family, 0)
    guard receiver >= 0 else { return #expect(family == AF_INET6 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) }
    defer { close(receiver) }
    var message = cwg_incoming()
    var buffer = [UInt8](repeating: 0, count: 64)
    func receive() -> UInt32 {
      while cwg_receive(receiver, &buffer, 64, 64, &message, 1) < 1 { usleep(1000) }
      return message.waited
    }

    // The kernel begins to stamp some time after the first socket has asked for it.
    var (waited, most) = (Duration.zero, Duration.zero)
    for _ in 0..<100 where waited < .milliseconds(30) {
      let begin = ContinuousClock.now
      try send(to: receiver, family: family)
      usleep(30_000)
      waited = .nanoseconds(Int64(receive()))
      most = ContinuousClock.now - begin
    }
    #expect(waited >= .milliseconds(30) && waited <= most)
  }

  private func send(to receiver: Int32, family: Int32) throws {
    let sender = socket(family, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(sender) }
    let port = cwg_udp_port(receiver).bigEndian
    let sent: Int
    if family == AF_INET {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port
      address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
      sent = withUnsafeBytes(of: &address) { sendto(sender, "x", 1, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 16) }
    } else {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port
      address.sin6_addr = in6addr_loopback
      sent = withUnsafeBytes(of: &address) { sendto(sender, "x", 1, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 28) }
    }
    try #require(sent == 1, "\(errno)")
  }
}
