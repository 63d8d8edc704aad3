import CWireGuardIO
import Glibc
import LinuxIO
import NetworkTypes
import Testing

@testable import WireGuardDataPath

@Suite("Distribution of queues to threads")
struct DutiesTests {
  private let stopping = FileDescriptor(owning: cwg_event())

  private func ready(_ duties: Duties, _ thread: Int) -> Set<UInt32> {
    var identities = [UInt32](repeating: 0, count: 16)
    let count = cwg_poller_wait(duties.pollers[thread], &identities, 16, 0)
    return Set(identities.prefix(max(0, Int(count))))
  }

  @Test("one thread serves all queues, then two, then four; readable queues wake their thread") func growth() throws {
    let duties = try Duties(4, stopping: stopping.number)
    let queues = (0..<4).map { _ in FileDescriptor(owning: cwg_event()) }
    for (i, queue) in queues.enumerated() {
      #expect(duties.watch(queue.number, 0, of: i, isNew: true) { true })
      cwg_event_raise(queue.number)
    }
    #expect(duties.queues(of: 0) == [0, 1, 2, 3] && duties.canGrow)
    #expect(ready(duties, 0) == [0, 2, 4, 6])
    #expect(ready(duties, 1).isEmpty && ready(duties, 2).isEmpty && ready(duties, 3).isEmpty)
    let generation = duties.generation
    duties.grow()
    #expect(duties.generation != generation && duties.canGrow)
    // Nothing changes hands before the old thread says so.
    #expect(duties.queues(of: 0) == [0, 1, 2, 3] && ready(duties, 1) == [Duties.changes])
    duties.handOver(by: 0)
    #expect(duties.queues(of: 0) == [0, 2] && duties.queues(of: 1) == [1, 3])
    #expect(ready(duties, 0) == [0, 4] && ready(duties, 1) == [2, 6, Duties.changes])
    #expect(duties.wait(in: 1) == true)
    #expect(ready(duties, 1) == [2, 6])
    duties.grow()
    #expect(!duties.canGrow)
    duties.handOver(by: 1)
    duties.handOver(by: 0)
    for thread in 0..<4 {
      #expect(duties.queues(of: thread) == [thread])
      #expect(duties.wait(in: thread) == true)
      #expect(ready(duties, thread) == [UInt32(2 * thread)])
    }
    cwg_event_raise(stopping.number)
    for thread in 0..<4 { #expect(duties.wait(in: thread) == nil) }
  }

  @Test("three queues: the third thread gets one") func threeQueues() throws {
    let duties = try Duties(3, stopping: stopping.number)
    duties.grow()
    duties.handOver(by: 0)
    #expect(duties.queues(of: 0) == [0, 2] && duties.queues(of: 1) == [1])
    duties.grow()
    duties.handOver(by: 0)
    #expect((0..<3).map { duties.queues(of: $0) } == [[0], [1], [2]] && !duties.canGrow)
  }

  @Test("a socket that replaces another is watched by the thread that has its queue") func replacement() throws {
    let duties = try Duties(2, stopping: stopping.number)
    let place = FileDescriptor(owning: cwg_event())
    duties.grow()
    duties.handOver(by: 0)
    let new = FileDescriptor(owning: cwg_event())
    #expect(duties.watch(place.number, 1, of: 1, isNew: true) { cwg_replace(new.number, place.number) == 0 })
    cwg_event_raise(new.number)
    #expect(ready(duties, 1).contains(3) && ready(duties, 0).isEmpty)
  }

  @Test("one queue never asks for another thread") func single() throws {
    let duties = try Duties(1, stopping: stopping.number)
    #expect(!duties.canGrow)
    duties.grow()
    #expect(duties.generation == 0 && duties.queues(of: 0) == [0])
  }

  @Test("load is high if a thread works for more than four fifths of 50 ms") func load() {
    let start = Moment(nanoseconds: 1_000_000_000)
    var meter = LoadMeter(at: start)
    func isHigh(after milliseconds: Int) -> Bool { meter.isHigh(at: start + .milliseconds(milliseconds)) }
    var high = [isHigh(after: 49), isHigh(after: 50)]
    meter.record(waited: 9_000_000)
    high.append(isHigh(after: 100))
    meter.record(waited: 11_000_000)
    high += [isHigh(after: 150), isHigh(after: 151)]
    #expect(high == [false, true, true, false, false])
  }

  @Test("both directions of a flow have the same number, and flows have different ones") func flows() {
    func packet(_ from: UInt8, _ to: UInt8, _ source: UInt16, _ target: UInt16) -> [UInt8] {
      let ports = [UInt8(source >> 8), UInt8(source & 255), UInt8(target >> 8), UInt8(target & 255)]
      return [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to] + ports + [0, 8, 0, 0]
    }
    func number(_ packet: [UInt8]) -> Int {
      packet.withUnsafeBytes { $0.baseAddress.map { InternetPacket.flow($0, packet.count) } ?? -1 }
    }
    var counts = [0, 0, 0, 0]
    for port in 1000..<2000 as Range<UInt16> {
      let one = number(packet(1, 2, port, 53))
      #expect(one >= 0 && one == number(packet(2, 1, 53, port)))
      counts[one % 4] += 1
    }
    #expect(counts.allSatisfy { $0 > 150 }, "\(counts)")
  }
}
