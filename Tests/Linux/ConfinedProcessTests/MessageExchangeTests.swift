import ConfinedProcess
import Glibc
import LinuxIO
import SystemdIO
import SystemdTestSupport
import Testing

@Suite("The messages with a worker") struct MessageExchangeTests {
  @Test("messages for an end that reads late arrive in their order, and what it says meanwhile is taken") func order() throws {
    let (read, taken): ([UInt8], [UInt8]) = try onLoop { loop, done in
      let (ours, theirs) = try MessageChannel.pair()
      let other = MessageChannel(theirs)
      _ = fcntl(theirs.number, F_SETFL, O_NONBLOCK)
      var (read, taken): ([UInt8], [UInt8]) = ([], [])
      let exchange = try MessageExchange(ours, on: loop) { bytes, _ in
        taken.append(bytes[0])
      } ended: { _ in
        Issue.record("no end")
      }
      // More than the kernel keeps.
      for number in 0..<200 { exchange.send([UInt8](repeating: UInt8(number), count: 10_000)) }
      #expect(!exchange.isSent)
      try other.send([7])
      let reading = try loop.whenReadable(theirs.number) {
        while case .message(let bytes, _)? = try? other.receive() { read.append(bytes[0]) }
        if read.count == 200, exchange.isSent, !taken.isEmpty { done((read, taken)) }
      }
      return (exchange, reading, other)
    }
    #expect(read == Array(0..<200) && taken == [7])
  }

  @Test("an end that reads nothing is given up, with the reason, later") func unread() throws {
    let code: Int32 = try onLoop { loop, done in
      let (ours, theirs) = try MessageChannel.pair()
      var isCalling = true
      let exchange = try MessageExchange(ours, limit: 3, on: loop) { _, _ in
        Issue.record("no message")
      } ended: { end in
        #expect(!isCalling)
        if case .unsent(let error) = end { done(error.code) } else { Issue.record("another end") }
      }
      for _ in 0..<200 { exchange.send([UInt8](repeating: 1, count: 50_000)) }
      isCalling = false
      return (exchange, theirs)
    }
    #expect(code == EAGAIN)
  }

  @Test("the end of the other side comes after its messages, once; after a close nothing comes") func closed() throws {
    let taken: [UInt8] = try onLoop { loop, done in
      let (ours, theirs) = try MessageChannel.pair()
      var (taken, other): ([UInt8], MessageChannel?) = ([], MessageChannel(theirs))
      try other?.send([1])
      try other?.send([2])
      other = nil
      let exchange = try MessageExchange(ours, on: loop) { bytes, _ in
        taken.append(bytes[0])
      } ended: { end in
        if case .closed = end { done(taken) } else { Issue.record("another end") }
      }
      let (second, silent) = try MessageChannel.pair()
      try MessageChannel(silent).send([4])
      let closed = try MessageExchange(second, on: loop) { _, _ in
        Issue.record("closed")
      } ended: { _ in
        Issue.record("closed")
      }
      closed.close()
      closed.send([5])
      return (exchange, closed, silent)
    }
    #expect(taken == [1, 2])
  }
}
