internal import NetworkTypes

/// Deadlines of numbered slots, the earliest first. Each slot has one at most.
struct DeadlineHeap: Sendable {
  private var heap: [(due: Moment, slot: Int)] = []
  /// The place of each slot in the heap; -1: it has no deadline.
  private var places: [Int] = []

  var first: (due: Moment, slot: Int)? { heap.first }

  mutating func set(_ due: Moment, for slot: Int) {
    while places.count <= slot { places.append(-1) }
    if places[slot] < 0 {
      places[slot] = heap.count
      heap.append((due, slot))
      rise(heap.count - 1)
    } else {
      let place = places[slot]
      heap[place].due = due
      rise(place)
      sink(places[slot])
    }
  }

  /// Sets an earlier deadline; a later one has no effect.
  mutating func advance(_ due: Moment, for slot: Int) {
    guard slot < places.count, places[slot] >= 0, heap[places[slot]].due <= due else { return set(due, for: slot) }
  }

  mutating func remove(_ slot: Int) {
    guard slot < places.count, places[slot] >= 0 else { return }
    let place = places[slot]
    places[slot] = -1
    let last = heap.removeLast()
    guard place < heap.count else { return }
    put(last, at: place)
    rise(place)
    sink(places[last.slot])
  }

  private mutating func put(_ entry: (due: Moment, slot: Int), at place: Int) {
    heap[place] = entry
    places[entry.slot] = place
  }

  private mutating func rise(_ start: Int) {
    let entry = heap[start]
    var place = start
    while place > 0, entry.due < heap[(place - 1) / 2].due {
      put(heap[(place - 1) / 2], at: place)
      place = (place - 1) / 2
    }
    put(entry, at: place)
  }

  private mutating func sink(_ start: Int) {
    let entry = heap[start]
    var place = start
    while true {
      var child = 2 * place + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1].due < heap[child].due { child += 1 }
      guard heap[child].due < entry.due else { break }
      put(heap[child], at: place)
      place = child
    }
    put(entry, at: place)
  }
}
