import KernelModel

/// The order in which a run of steps is sent.
///
/// Of many routes to add, every fourth is sent first, spread over all of them, and then the others in order. The kernel keeps IPv4 routes
/// in a trie (net/ipv4/fib_trie.c, LC-trie), and a node has an entry for each value of some bits of the address. Routes that arrive in the
/// order of their addresses make it double its nodes at the end again and again, and copy what they hold. If the first ones are spread
/// evenly, the nodes near the root get their size early, and no others are made and freed. The routes after them are in order, so that
/// neighbours in the table are near each other in memory when it is read.
enum SendingOrder {
  /// One of so many routes is sent first.
  private static let share = 4
  /// With fewer routes the kernel's copies cost nothing that could be measured.
  static let many = 4096

  /// The places of `run` in the order of sending. Consecutive additions of routes without a gateway may change places; all other steps keep
  /// their order.
  static func places(of run: Range<Int>, in steps: [Step]) -> [Int] {
    guard run.count >= many else { return Array(run) }
    var places: [Int] = []
    places.reserveCapacity(run.count)
    var place = run.lowerBound
    while place < run.upperBound {
      let additions = steps[place..<run.upperBound].prefix(while: \.isIndependent).indices
      if additions.count >= many {
        places += spread((additions.count + share - 1) / share).lazy.map { additions.lowerBound + $0 * share }
        places += additions.lazy.filter { ($0 - additions.lowerBound) % share != 0 }
        place = additions.upperBound
      } else {
        let end = min(additions.upperBound + 1, run.upperBound)
        places.append(contentsOf: place..<end)
        place = end
      }
    }
    return places
  }

  /// The numbers below `count`, each once, such that the first ones of them are spread evenly, however many: in the order of their reversed
  /// bits.
  static func spread(_ count: Int) -> [Int] {
    var numbers = [0]
    var step = 1
    while step < count { step *= 2 }
    while step > 1 {
      step /= 2
      numbers += numbers.map { $0 + step }
    }
    return numbers.filter { $0 < count }
  }
}

extension Step {
  /// Whether the step adds a route that leads over no gateway: the kernel looks a gateway up among the routes that exist.
  fileprivate var isIndependent: Bool { if case .addRoute(let route) = self { route.gateway == nil } else { false } }
}
