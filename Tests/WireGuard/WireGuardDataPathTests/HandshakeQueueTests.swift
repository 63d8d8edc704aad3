import NetworkTypes
import Testing
import WireGuardEngine

@testable import WireGuardDataPath

@Suite("Waiting handshake messages") struct HandshakeQueueTests {
  private func append(_ numbers: Range<Int>, to queue: HandshakeQueue) {
    for number in numbers {
      let source = DatagramAddress(IPAddress(v4: UInt32(number)), port: UInt16(truncatingIfNeeded: number))
      let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1 + number % HandshakeQueue.largest)
      bytes.withUnsafeBytes { queue.append($0, from: source) }
    }
  }

  /// The numbers of the messages, each of which is as it was appended.
  private func taken(from queue: HandshakeQueue) -> [Int] {
    var numbers: [Int] = []
    while queue.count > 0 {
      let before = numbers.count
      let hasMore = queue.take { message, source in
        let number = Int(source.address.low)
        #expect(source.port == UInt16(truncatingIfNeeded: number) && message.count == 1 + number % HandshakeQueue.largest)
        #expect(message.allSatisfy { $0 == UInt8(truncatingIfNeeded: number) })
        numbers.append(number)
      }
      #expect((1...HandshakeQueue.piece).contains(numbers.count - before) && (!hasMore || queue.count > 0))
    }
    return numbers
  }

  @Test("as many fit as are allowed, within bounds; they come in their order, each once") func room() {
    let queue = HandshakeQueue()
    append(0..<1000, to: queue)
    #expect(taken(from: queue) == Array(0..<HandshakeQueue.piece), "at first a piece")
    for (allowed, fit) in [(0, HandshakeQueue.piece), (1_000_000, HandshakeQueue.most), (3000, 3000), (257, 257)] {
      queue.allow(allowed)
      append(0..<HandshakeQueue.most + 10, to: queue)
      #expect(queue.count == fit)
      #expect(taken(from: queue) == Array(0..<fit))
      #expect(taken(from: queue).isEmpty && queue.count == 0)
    }
  }

  @Test("what arrives while others are taken comes after them") func meanwhile() {
    let queue = HandshakeQueue()
    queue.allow(3000)
    append(0..<1000, to: queue)
    var numbers: [Int] = []
    #expect(queue.take { numbers.append(Int($1.address.low)) })
    append(1000..<1100, to: queue)
    #expect(numbers.count == HandshakeQueue.piece && queue.count == 1100 - HandshakeQueue.piece)
    #expect(numbers + taken(from: queue) == Array(0..<1100))
  }

  @Test("less room than what waits already loses nothing of it") func lessRoom() {
    let queue = HandshakeQueue()
    queue.allow(2000)
    append(0..<2000, to: queue)
    queue.allow(0)
    append(2000..<2100, to: queue)
    #expect(taken(from: queue) == Array(0..<2000))
  }
}
