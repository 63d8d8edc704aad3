import KernelModel
import NetworkTypes
import Testing

@testable import KernelNetwork

@Suite struct SendingOrderTests {
  private static func routes(_ numbers: Range<Int>, via gateway: IPAddress? = nil) -> [Step] {
    numbers.compactMap { i in
      IPPrefix(IPAddress(v4: 10 << 24 | UInt32(i) << 8), length: 24).map { .addRoute(Route(to: $0, via: gateway, on: "rw0", table: 21000)) }
    }
  }

  @Test("few routes, and routes over a gateway, are sent in order") func inOrder() {
    let few = Self.routes(0..<SendingOrder.many - 1)
    #expect(SendingOrder.places(of: few.indices, in: few) == Array(few.indices))
    let gateway = Self.routes(0..<2 * SendingOrder.many, via: IPAddress(v4: 0xc000_0201))
    #expect(SendingOrder.places(of: gateway.indices, in: gateway) == Array(gateway.indices))
  }

  @Test("many routes are sent once each, the first ones from everywhere", arguments: [4096, 5000, 8193]) func spread(count: Int) {
    let steps = Self.routes(0..<count)
    let places = SendingOrder.places(of: steps.indices, in: steps)
    #expect(places.sorted() == Array(steps.indices))
    for first in [16, 64, 512] {
      let sent = ([-1] + places.prefix(first).sorted() + [count])
      let gap = zip(sent, sent.dropFirst()).map { $1 - $0 }.max() ?? count
      #expect(gap <= 4 * count / first, "the first \(first) leave \(gap) routes together")
    }
  }

  @Test("other steps keep their place among the routes") func others() {
    let removal = Step.removeRoute(Route(to: .everything(.v4), on: "rw0", table: 21000))
    let steps = [removal] + Self.routes(0..<5000) + [removal] + Self.routes(5000..<5010) + [removal]
    let places = SendingOrder.places(of: 0..<steps.count, in: steps)
    #expect(places.sorted() == Array(steps.indices))
    #expect(places[0] == 0 && places[5001...] == (5001..<steps.count).map { $0 }[...])
    let part = SendingOrder.places(of: 3..<4800, in: steps)
    #expect(part.sorted() == Array(3..<4800))
  }

  @Test("numbers in the order of their reversed bits") func numbers() {
    #expect(SendingOrder.spread(8) == [0, 4, 2, 6, 1, 5, 3, 7])
    #expect(SendingOrder.spread(5) == [0, 4, 2, 1, 3])
    #expect(SendingOrder.spread(1) == [0])
  }
}
