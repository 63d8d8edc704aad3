import Glibc
import LinuxIO
import NetworkTypes
import Testing
import WireGuardEngine

@testable import WireGuardDataPath

@Suite("Turns of control") struct ControlTurnsTests {
  @Test("a first packet and its answer need no control thread, unless another thread has a turn just then") func firstPacket() throws {
    var isDone = false
    for _ in 0..<20 where !isDone { isDone = try exchange() }
    #expect(isDone)
  }

  /// Whether a packet and its answer arrive without control; they arrive with it in any case.
  private func exchange() throws -> Bool {
    let (one, other) = (try DatagramPath(pairs: 1), try DatagramPath(pairs: 1))
    try one.add(other, "10.0.0.2/32")
    try other.add(one, "10.0.0.1/32")
    var needsNone = true
    func passes(_ sender: DatagramPath, _ receiver: DatagramPath, _ from: UInt8, _ to: UInt8) {
      #expect(sender.put(packet(from: [10, 0, 0, from], to: [10, 0, 0, to], flow: 1, 1, length: 100), in: 0))
      if waits(for: { receiver.take(from: 0)?.count == 100 }, rounds: 2_000) { return }
      needsNone = false
      let arrives = waits {
        for path in [one, other] { path.control() }
        return receiver.take(from: 0)?.count == 100
      }
      #expect(arrives)
    }
    passes(one, other, 1, 2)
    passes(other, one, 2, 1)
    guard needsNone else { return false }
    // Their timers are the control thread's.
    for path in [one, other] {
      #expect(path.path.turns.takeDeadlineChange())
      var event: UInt64 = 0
      #expect(read(path.path.turns.event, &event, 8) == 8)
    }
    return true
  }

  @Test("messages of a handshake that come together wait for the control thread, and none is lost") func flood() throws {
    let path = try DatagramPath(pairs: 1)
    let socket = FileDescriptor(owning: Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0))
    var address = DatagramAddress(IPAddress(v4: UInt32(INADDR_LOOPBACK)), port: path.port).socketAddress
    // An initiation with a wrong MAC.
    let message: [UInt8] = [1] + [UInt8](repeating: 0, count: ProtocolConstants.initiationLength - 1)
    var count = 0
    #expect(
      waits {
        for _ in 0..<16 {
          let sent = withUnsafeBytes(of: &address) {
            sendto(socket.number, message, message.count, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 16)
          }
          if sent == message.count { count += 1 }
        }
        return path.path.turns.handshakes.hasNews
      })
    #expect(path.drops.wrongMAC < count)
    #expect(
      waits {
        path.control()
        return path.drops.wrongMAC == count
      })
  }

  @Test("what a waiting process rehearses happens: the packet arrives") func rehearsal() { #expect(Rehearsal.run()) }
}
