/// Information elements of a beacon or probe response (IEEE 802.11-2020, 9.4.2.1): id u8, length u8, content. Ends at the first one whose
/// length is impossible. Every sender within reach of the radio may have written them.
package struct InformationElements: Sequence, IteratorProtocol {
  package struct Element {
    package let id: UInt8
    package let content: ArraySlice<UInt8>
  }

  private var rest: ArraySlice<UInt8>

  package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  package mutating func next() -> Element? {
    guard let id = rest.byte(at: 0), let length = rest.byte(at: 1), Int(length) + 2 <= rest.count else { return nil }
    let content = rest.dropFirst(2).prefix(Int(length))
    rest = rest.dropFirst(2 + Int(length))
    return Element(id: id, content: content)
  }
}
