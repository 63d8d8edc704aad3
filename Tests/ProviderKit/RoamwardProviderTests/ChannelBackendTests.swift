import Glibc
import LinuxIO
import NetworkTypes
import ProviderProtocol
import RoamwardProvider
import Testing

/// The channel of a provider's program, with an agent that reads late.
@Suite struct ChannelBackendTests {
  @Test("messages wait for an agent that reads late, in their order; then the provider sleeps", arguments: [1, 2, 300])
  func lateReader(count: Int) throws {
    let (agent, theirs) = try MessageChannel.pair()
    let backend = try ChannelBackend(theirs)
    let host = ProviderHost(backend: backend)
    backend.host = host
    // Fill the channel, so that each message of the count has to wait.
    let filling = [UInt8](repeating: 1, count: 8192)
    var filled = 0
    while (try? MessageChannel(FileDescriptor(owning: dup(theirs.number))).send(filling)) != nil { filled += 1 }
    for number in 0..<count { backend.send([2, UInt8(number & 0xff)] + filling) }
    #expect(backend.isWatchingWrites)
    var received: [[UInt8]] = []
    let loop = backend.loop
    let reading = try loop.at(.now + .milliseconds(20)) {
      for _ in 0..<1_000_000 where received.count < filled + 1 {
        if case .message(let bytes, _)? = try? agent.receive() { received.append(bytes) } else { break }
      }
    }
    let watching = try loop.whenReadable(agent.descriptor.number) {
      guard received.count >= min(filled, 1) else { return }
      while case .message(let bytes, _)? = try? agent.receive() { received.append(bytes) }
    }
    let end = try loop.at(.now + .milliseconds(600)) { loop.stop() }
    #expect(try backend.run() == 0)
    withExtendedLifetime((reading, watching, end, host)) {}
    #expect(received.count == filled + count && received.suffix(count).map { $0[1] } == (0..<count).map { UInt8($0 & 0xff) })
    #expect(!backend.isWatchingWrites, "the loop would not sleep")
  }

  @Test("an agent that never reads ends the program") func neverReads() throws {
    let (agent, theirs) = try MessageChannel.pair()
    let backend = try ChannelBackend(theirs)
    for _ in 0..<200 { backend.send([UInt8](repeating: 1, count: 60_000)) }
    #expect(try backend.run() == 1)
    withExtendedLifetime(agent) {}
  }
}
