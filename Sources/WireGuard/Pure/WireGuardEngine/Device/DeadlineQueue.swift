/// Peers by the time of their next deadline: a binary heap. Outdated entries are skipped when they reach the top.
struct DeadlineQueue {
  struct Entry {
    let at: UInt64
    let peer: PeerIndex
    let reason: EngineDeadline.Reason
  }

  private var heap: [Entry] = []

  var first: Entry? { heap.first }
  var count: Int { heap.count }

  mutating func insert(_ entry: Entry) {
    heap.append(entry)
    var child = heap.count - 1
    while child > 0, heap[child].at < heap[(child - 1) / 2].at {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while 2 * parent + 1 < heap.count {
      var child = 2 * parent + 1
      if child + 1 < heap.count, heap[child + 1].at < heap[child].at { child += 1 }
      guard heap[child].at < heap[parent].at else { break }
      heap.swapAt(child, parent)
      parent = child
    }
  }
}
