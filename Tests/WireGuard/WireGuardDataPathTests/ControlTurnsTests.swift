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
    /// Whether some of a few messages wait, for longer than the thread would need to answer them.
    func someWait() -> Bool {
      for _ in 0..<16 {
        let sent = withUnsafeBytes(of: &address) {
          sendto(socket.number, message, message.count, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 16)
        }
        if sent == message.count { count += 1 }
      }
      #expect(waits { path.path.turns.handshakes.count + Int(path.drops.wrongMAC) >= count })
      usleep(30_000)
      return path.path.turns.handshakes.hasNews && path.drops.wrongMAC < count
    }
    // Each burst is answered before the next, so that all fit. A thread that does not run for long may get each message alone.
    let hasWaited = (0..<20).contains { _ in
      let hasWaited = someWait()
      path.control()
      #expect(path.drops.wrongMAC == count)
      return hasWaited
    }
    #expect(hasWaited)
  }

  @Test("a thread that has slept does not count as busy: its first packet makes no other thread work") func afterSleep() throws {
    let (one, other) = (try DatagramPath(pairs: 2), try DatagramPath(pairs: 2))
    try one.add(other, "10.0.0.2/32")
    try other.add(one, "10.0.0.1/32")
    // Longer than a window of the meter.
    usleep(120_000)
    #expect(one.put(packet(from: [10, 0, 0, 1], to: [10, 0, 0, 2], flow: 1, 1, length: 100), in: 0))
    let arrives = waits {
      for path in [one, other] { path.control() }
      return (0..<2).contains { other.take(from: $0) != nil }
    }
    #expect(arrives)
    for path in [one, other] { #expect(path.path.outboundDuties.canGrow && path.path.inboundDuties.canGrow) }
  }

  @Test("packets for several peers wait for the control thread: it makes their handshakes beside the thread") func severalPeers() throws {
    let hub = try DatagramPath(pairs: 1)
    for i in 0..<3 { try hub.add(try DatagramPath(pairs: 1), "10.0.1.\(i)/32") }
    func put(_ peer: UInt8) { #expect(hub.put(packet(from: [10, 0, 0, 1], to: [10, 0, 1, peer], flow: 1, 1, length: 100), in: 0)) }
    hub.whileNothingIsSent {
      put(0)
      // The thread waits with this packet, so it reads the next two together.
      #expect(waits { hub.hasReadAll })
      usleep(10_000)
      put(1)
      put(2)
    }
    #expect(waits { hub.hasReadAll })
    usleep(30_000)
    #expect(hub.path.engine.hasPending)
    #expect(hub.path.engine.state.peers.count { $0.sentBytes == 0 } >= 2)
    hub.control()
    #expect(hub.path.engine.state.peers.allSatisfy { $0.sentBytes == 148 })
  }

  @Test("the warm-up of a waiting process happens: the packet arrives") func warmUp() { #expect(WarmUp.run()) }
}
