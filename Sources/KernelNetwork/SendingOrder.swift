import KernelModel

/// The order in which a run of steps is sent.
///
/// Many routes to add are sent in blocks that are spread over all of them. The kernel keeps IPv4 routes in a trie (net/ipv4/fib_trie.c,
/// LC-trie), and a node has an entry for each value of some bits of the address. Routes that arrive in the order of their addresses make it
/// double its nodes at the end again and again, and copy what they hold; if the first ones are spread, the nodes have their size early.
enum SendingOrder {
  /// Routes of a block, which is in order: the memory of a block is read as one.
  private static let block = 32
  /// With fewer routes the kernel's copies cost nothing that could be measured.
  private static let many = 4096

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
        for start in spread((additions.count + block - 1) / block) {
          let first = additions.lowerBound + start * block
          places.append(contentsOf: first..<min(first + block, additions.upperBound))
        }
        place = additions.upperBound
      } else {
        let end = min(additions.upperBound + 1, run.upperBound)
        places.append(contentsOf: place..<end)
        place = end
      }
    }
    return places
  }

  /// The numbers below `count`, each once, such that the first ones of them are spread evenly, however many: by steps of the golden ratio,
  /// round and round.
  static func spread(_ count: Int) -> [Int] {
    var step = max(count * 618 / 1000, 1)
    while greatestCommonDivisor(step, count) > 1 { step += 1 }
    return (0..<count).map { $0 * step % count }
  }

  private static func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int { b == 0 ? a : greatestCommonDivisor(b, a % b) }
}

extension Step {
  /// Whether the step adds a route that leads over no gateway: the kernel looks a gateway up among the routes that exist.
  fileprivate var isIndependent: Bool { if case .addRoute(let route) = self { route.gateway == nil } else { false } }
}
