import NetworkTypes
import Testing

@testable import HostDNS

@Suite("What the ends of the name server's processes mean for the next start") struct NameServerHistoryTests {
  private let start = Moment(nanoseconds: 0)

  @Test("one that has worked for a while is started again at once, and expected for ten seconds") func settled() {
    var history = NameServerHistory()
    history.begin(at: start)
    let end = start + .seconds(60)
    let hasToWait = history.fail("it has ended", isRunning: true, hasWorked: true, at: end)
    #expect(!hasToWait)
    #expect(history.obstacle(at: end) == nil && history.mayStart == nil)
    #expect(history.isReturning(at: end + .seconds(9)) && !history.isReturning(at: end + .seconds(10)))
  }

  @Test("one that fails at its start has to wait, longer each time, with the reason; it is not expected") func failing() {
    var history = NameServerHistory()
    var waits: [Duration] = []
    var now = start
    for _ in 0..<3 {
      history.begin(at: now)
      let hasToWait = history.fail("the port is taken", isRunning: false, hasWorked: false, at: now)
      #expect(hasToWait)
      #expect(history.obstacle(at: now) == "the port is taken" && !history.isReturning(at: now))
      guard let next = history.mayStart else { break }
      waits.append(next - now)
      #expect(history.obstacle(at: next) == nil)
      now = next
    }
    #expect(waits.count == 3 && waits == waits.sorted() && waits[0] < waits[2])
  }

  @Test("one that ends soon after it worked has to wait, and is expected all the same") func soon() {
    var history = NameServerHistory()
    history.begin(at: start)
    let end = start + .seconds(2)
    let hasToWait = history.fail("it has ended", isRunning: true, hasWorked: true, at: end)
    #expect(hasToWait)
    #expect(history.obstacle(at: end) == "it has ended" && history.isReturning(at: end))
  }
}
