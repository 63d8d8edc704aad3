// The standard library's `sorted` is compiled anew, 3 kB each time, for every element type and order: a hundred times in one program.
// These come before it in every file that imports this module, and share one copy. They order places instead of elements, which takes
// longer. If that matters (very many routes), sort in place: `sort` is the standard library's.

extension Sequence {
  /// The elements in the order of `areInIncreasingOrder`; equal ones keep their order.
  @inlinable
  package func sorted(by areInIncreasingOrder: (Element, Element) throws -> Bool) rethrows -> [Element] {
    let elements = Array(self)
    return try places(elements.count, inOrder: { try areInIncreasingOrder(elements[$0], elements[$1]) }).map { elements[$0] }
  }
}

extension Sequence where Element: Comparable {
  /// The elements from the least to the greatest; equal ones keep their order.
  @inlinable
  package func sorted() -> [Element] { sorted(by: <) }
}

/// The numbers from 0 to `count - 1` in the given order.
@inline(never)
@usableFromInline
package func places(_ count: Int, inOrder areInIncreasingOrder: (Int, Int) throws -> Bool) rethrows -> [Int] {
  var places = Array(0..<count)
  try places.sort(by: areInIncreasingOrder)
  return places
}
