import FlowProtocol
import SeededRandom
import Testing

/// Two streams that are joined.
@Suite struct StreamJointTests {
  @Test("a full side pauses the other, and the end of each goes on in its direction alone") func directions() {
    var joint = StreamJoint()
    #expect(joint.take(.data(.client, [1])) == [.send(.target, [1])])
    #expect(joint.take(.congested(.target)) == [.pause(.client)] && joint.isPaused(.client) && joint.take(.congested(.target)) == [])
    #expect(joint.take(.data(.client, [2])) == [.send(.target, [2])])
    #expect(joint.take(.data(.target, [3])) == [.send(.client, [3])])
    #expect(joint.take(.drained(.target)) == [.resume(.client)] && !joint.isPaused(.client) && joint.take(.drained(.target)) == [])
    #expect(joint.take(.ended(.client)) == [.finish(.target)] && joint.take(.ended(.client)) == [])
    #expect(joint.take(.data(.client, [4])) == [])
    #expect(joint.take(.data(.target, [5])) == [.send(.client, [5])])
    #expect(joint.take(.ended(.target)) == [.finish(.client), .close] && joint.take(.data(.target, [6])) == [])
  }

  @Test("what the receiver keeps is sent before both are closed") func lastBytes() {
    var joint = StreamJoint()
    #expect(joint.take(.ended(.client)) == [.finish(.target)])
    #expect(joint.take(.congested(.client)) == [.pause(.target)] && joint.take(.ended(.target)) == [.finish(.client)])
    #expect(joint.take(.congested(.client)) == [] && joint.take(.drained(.client)) == [.close] && joint.take(.drained(.client)) == [])
  }

  @Test("a broken side closes both, in every state") func broken() {
    let before: [[StreamJoint.Event]] = [
      [], [.congested(.client)], [.ended(.target)], [.congested(.target), .ended(.client)], [.ended(.client), .congested(.client)],
    ]
    for events in before {
      for side in StreamJoint.Side.allCases {
        var joint = StreamJoint()
        for event in events { _ = joint.take(event) }
        #expect(joint.take(.broken(side)) == [.close] && joint.take(.broken(side)) == [])
      }
    }
  }

  /// A side whose receiver takes some bytes at a time.
  private struct End {
    var input: [UInt8]
    var kept: [UInt8] = []
    var received: [UInt8] = []
    var isPaused = false
    var hasEnded = false
    var isFinished = false
    var mostKept = 0
  }

  @Test("all bytes arrive in order, with few kept, in any order of events", arguments: 1...60) func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var joint = StreamJoint()
    let bytes = { (count: Int) in (0..<count).map { UInt8(truncatingIfNeeded: $0) } }
    var ends: [StreamJoint.Side: End] = [.client: End(input: bytes(700)), .target: End(input: bytes(900))]
    let sent = ends.mapValues(\.input)
    var isClosed = false
    func mostKept(_ side: StreamJoint.Side, _ count: Int) -> Int { max(ends[side]?.mostKept ?? 0, count) }
    func take(_ event: StreamJoint.Event) {
      for action in joint.take(event) {
        switch action {
        case .send(let side, let bytes):
          let count = (ends[side]?.kept.count ?? 0) + bytes.count
          ends[side]?.kept += bytes
          let most = mostKept(side, count)
          ends[side]?.mostKept = most
          take(.congested(side))
        case .pause(let side): ends[side]?.isPaused = true
        case .resume(let side): ends[side]?.isPaused = false
        case .finish(let side): ends[side]?.isFinished = true
        case .close: isClosed = true
        }
      }
    }
    for _ in 0..<20_000 where !isClosed {
      let side = random.pick(StreamJoint.Side.allCases)
      guard var end = ends[side] else { continue }
      if random.chance(0.5) {
        guard !end.isPaused, !end.hasEnded else { continue }
        let part = Array(end.input.prefix(1 + Int(random.next() % 40)))
        end.input.removeFirst(part.count)
        end.hasEnded = part.isEmpty
        ends[side] = end
        take(part.isEmpty ? .ended(side) : .data(side, part))
      } else if !end.kept.isEmpty {
        let count = min(end.kept.count, 1 + Int(random.next() % 20))
        end.received += end.kept.prefix(count)
        end.kept.removeFirst(count)
        let isDrained = end.kept.isEmpty
        ends[side] = end
        if isDrained { take(.drained(side)) }
      }
    }
    #expect(isClosed)
    for side in StreamJoint.Side.allCases {
      #expect(ends[side]?.received == sent[side.other] && ends[side]?.isFinished == true && (ends[side]?.mostKept ?? 99) <= 40)
    }
  }
}
