import Glibc
import LinuxIO
import Testing

@Suite struct MessageOutboxTests {
  private func next(_ channel: MessageChannel) throws -> [UInt8]? {
    if case .message(let bytes, _) = try channel.receive() { bytes } else { nil }
  }

  @Test("messages that the other end leaves unread wait in their order, up to a limit") func order() throws {
    let (channel, end) = try MessageChannel.pair()
    let other = MessageChannel(end)
    _ = fcntl(end.number, F_SETFL, fcntl(end.number, F_GETFL) | O_NONBLOCK)
    var outbox = MessageOutbox(channel, limit: 50)
    var sent = 0
    func message(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xff)] + [UInt8](repeating: 0, count: 1000) }
    let refusal = #expect(throws: SystemError.self) {
      while true {
        try outbox.send(message(sent))
        sent += 1
      }
    }
    #expect(refusal?.code == EAGAIN && sent > 60 && !outbox.isEmpty)
    var seen = 0
    while seen < sent {
      try outbox.flush()
      while let bytes = try next(other) {
        #expect(bytes == message(seen))
        seen += 1
      }
    }
    #expect(outbox.isEmpty)
    try outbox.send(message(sent))
    #expect(try next(other) == message(sent))
  }

  @Test("it says when the other end has closed") func end() throws {
    let (channel, _) = try MessageChannel.pair()
    var outbox = MessageOutbox(channel, limit: 50)
    #expect(throws: SystemError.self) { try outbox.send([1]) }
  }
}
