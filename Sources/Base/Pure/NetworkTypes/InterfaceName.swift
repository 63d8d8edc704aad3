/// A link's name as the kernel takes it: 1 to 15 bytes, no `/`, no white space, not `.` or `..` (`dev_valid_name` of linux/net/core/dev.c).
package struct InterfaceName: Hashable, Sendable, Comparable, LosslessStringConvertible {
  package let description: String

  package init?(_ text: String) {
    guard (1...15).contains(text.utf8.count), text != ".", text != "..",
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ":") })
    else { return nil }
    description = text
  }

  package static func < (a: Self, b: Self) -> Bool { a.description < b.description }
}
