import Glibc
import Synchronization
import Testing

@testable import GatewayAuth

@Suite("Threads that hash passwords") struct HashWorkersTests {
  /// The jobs that have been done, and whether the threads may go on.
  private final class Record: Sendable {
    let done = Mutex<[UInt32]>([])
    let mayGoOn = Atomic<Bool>(false)
  }

  @Test("what waits for a client that has gone is not done, and leaves room; all else is") func gone() throws {
    let workers = try HashWorkers()
    func waits(for condition: () -> Bool) -> Bool {
      for _ in 0..<100_000 where !condition() { usleep(100) }
      return condition()
    }
    let record = Record()
    func add(_ number: UInt32) -> Bool {
      workers.add(for: number) {
        while !record.mayGoOn.load(ordering: .acquiring) { usleep(100) }
        record.done.withLock { $0.append(number) }
        return { _ in }
      }
    }
    // Each thread has one.
    for number in 1...UInt32(HashWorkers.threads) { #expect(add(number)) }
    let rest = (UInt32(HashWorkers.threads) + 1)...
    #expect(waits { workers.waiting == 0 })
    let waiting = Array(rest.prefix(HashWorkers.queueLimit))
    for number in waiting { #expect(add(number)) }
    #expect(!workers.hasRoom)
    for number in waiting.dropLast() { workers.cancel(number) }
    #expect(workers.hasRoom)
    record.mayGoOn.store(true, ordering: .releasing)
    #expect(waits { record.done.withLock { $0.count } > HashWorkers.threads && workers.waiting == 0 })
    #expect(record.done.withLock { Set($0) } == Set(1...UInt32(HashWorkers.threads)).union([waiting[waiting.count - 1]]))
  }
}
