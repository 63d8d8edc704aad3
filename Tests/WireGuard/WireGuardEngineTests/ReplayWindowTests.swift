import SeededRandom
import Testing

@testable import WireGuardEngine

@Suite struct ReplayWindowTests {
  /// Admits and notes.
  private func take(_ window: inout ReplayWindow, _ counter: UInt64) -> Bool {
    guard window.admits(counter) else { return false }
    window.record(counter)
    return true
  }

  @Test("the cases of the kernel's self-test, for a window of 8128") func cases() {
    var window = ReplayWindow()
    defer { window.deallocate() }
    let limit = ReplayWindow.size + 1
    #expect(ReplayWindow.size == 8128)
    let expected: [(UInt64, Bool)] = [
      (0, true), (1, true), (1, false), (9, true), (8, true), (7, true), (7, false), (limit, true), (limit - 1, true),
      (limit - 1, false), (limit - 2, true), (2, true), (2, false), (limit + 16, true), (3, false), (limit + 16, false),
      (limit * 4, true), (limit * 4 - (limit - 1), true), (10, false), (limit * 4 - limit, false), (limit * 4 - (limit + 1), false),
      (limit * 4 - (limit - 2), true), (limit * 4 + 1 - limit, false), (0, false), (.max - (1 << 13) - 1, true), (limit * 4 + 2, false),
    ]
    for (i, (counter, isNew)) in expected.enumerated() { #expect(take(&window, counter) == isNew, "case \(i): \(counter)") }
  }

  @Test("against a set of all that came in", arguments: 1...30) func property(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var window = ReplayWindow()
    defer { window.deallocate() }
    var seen: Set<UInt64> = []
    var highest: UInt64 = 0
    for _ in 0..<20_000 {
      let jump = random.chance(0.01) ? random.next() % 20_000 : random.next() % 200
      let counter = random.chance(0.5) ? highest + jump : highest - min(highest, random.chance(0.9) ? jump : random.next() % 9_000)
      let isNew = !seen.contains(counter) && (counter > highest || highest - counter <= ReplayWindow.size)
      #expect(take(&window, counter) == isNew)
      seen.insert(counter)
      highest = max(highest, counter)
    }
  }

  @Test("asking changes nothing") func asking() {
    var window = ReplayWindow()
    defer { window.deallocate() }
    #expect(window.admits(1_000_000))
    #expect(take(&window, 5) && take(&window, 4))
  }

  @Test("the index table against a dictionary", arguments: 1...20) func indices(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var table = IndexTable()
    var model: [UInt32: UnsafeMutablePointer<ReceivingSession>] = [:]
    defer {
      table.deallocate()
      for session in model.values { free(session) }
    }
    func free(_ session: UnsafeMutablePointer<ReceivingSession>) {
      session.pointee.window.deallocate()
      session.deallocate()
    }
    for _ in 0..<2_000 {
      // Few low bits: long runs of neighbours.
      let index = UInt32(truncatingIfNeeded: random.next() & 0xf000_003f)
      if random.chance(0.55), model[index] == nil {
        let session = UnsafeMutablePointer<ReceivingSession>.allocate(capacity: 1)
        session.initialize(
          to: ReceivingSession(
            key: UnsafeRawPointer(session), localIndex: index, peer: PeerIndex(slot: 0), createdAt: 0, isInitiator: true,
            awaitsConfirmation: false))
        table.insert(session)
        model[index] = session
      } else if let gone = model.removeValue(forKey: index) {
        table.remove(index)
        free(gone)
      }
      let probe = UInt32(truncatingIfNeeded: random.next() & 0xf000_003f)
      #expect(table[probe] == model[probe])
      #expect(table.count == model.count)
    }
  }
}
