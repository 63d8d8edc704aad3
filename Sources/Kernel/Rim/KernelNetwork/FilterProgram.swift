internal import CNetlink
internal import Glibc

/// A builder of a classic BPF program (linux/filter.h). Positions have labels, and branches reach any of them; the machine's own short
/// jumps (255 instructions) stay within one operation.
///
/// Loads interpret numbers as big-endian, unlike netlink on most machines: `host` converts the operands of comparisons.
struct FilterProgram {
  struct Label: Hashable {
    fileprivate let number: Int
  }

  private var code: [sock_filter] = []
  private var labels = 0
  private var places: [Label: Int] = [:]
  /// Jumps, by their position, whose distance is not known yet.
  private var open: [Int: Label] = [:]

  /// `BPF_MAXINSNS`.
  static let limit = 4096

  mutating func newLabel() -> Label {
    labels += 1
    return Label(number: labels)
  }

  mutating func place(_ label: Label) { places[label] = code.count }

  /// Accepts the message, or the first so many bytes of it.
  mutating func accept(bytes: UInt32 = .max) { append(BPF_RET | BPF_K, bytes) }
  mutating func drop() { append(BPF_RET | BPF_K, 0) }

  mutating func loadByte(_ offset: UInt32) { append(BPF_LD | BPF_B | BPF_ABS, offset) }
  mutating func loadHalf(_ offset: UInt32) { append(BPF_LD | BPF_H | BPF_ABS, offset) }
  mutating func loadWord(_ offset: UInt32) { append(BPF_LD | BPF_W | BPF_ABS, offset) }

  /// Loads a word of the attribute that was found last; the offset counts from its header, 4 bytes before its payload.
  mutating func loadAttributeWord(_ offset: UInt32) { append(BPF_LD | BPF_W | BPF_IND, offset) }
  mutating func loadAttributeHalf(_ offset: UInt32) { append(BPF_LD | BPF_H | BPF_IND, offset) }

  mutating func mask(_ bits: UInt32) { append(BPF_ALU | BPF_AND | BPF_K, bits) }

  /// Finds an attribute among those that begin at `offset`; jumps to `label` if there is none.
  mutating func find(attribute: UInt16, from offset: UInt32, orGo label: Label) {
    append(BPF_LDX | BPF_IMM, UInt32(attribute))
    append(BPF_LD | BPF_IMM, offset)
    append(BPF_LD | BPF_W | BPF_ABS, UInt32(bitPattern: SKF_AD_OFF + SKF_AD_NLATTR))
    go(to: label, ifEqual: 0)
    append(BPF_MISC | BPF_TAX, 0)
  }

  mutating func go(to label: Label) {
    open[code.count] = label
    append(BPF_JMP | BPF_JA, 0)
  }

  mutating func go(to label: Label, ifEqual value: UInt32) { go(to: label, BPF_JEQ, value, whenTrue: true) }
  mutating func go(to label: Label, unlessEqual value: UInt32) { go(to: label, BPF_JEQ, value, whenTrue: false) }
  mutating func go(to label: Label, ifAtLeast value: UInt32) { go(to: label, BPF_JGE, value, whenTrue: true) }
  mutating func go(to label: Label, unlessAtLeast value: UInt32) { go(to: label, BPF_JGE, value, whenTrue: false) }
  mutating func go(to label: Label, ifAnyOf bits: UInt32) { go(to: label, BPF_JSET, bits, whenTrue: true) }

  private mutating func go(to label: Label, _ comparison: Int32, _ value: UInt32, whenTrue: Bool) {
    append(BPF_JMP | BPF_K | comparison, value, yes: whenTrue ? 0 : 1, no: whenTrue ? 1 : 0)
    go(to: label)
  }

  private mutating func append(_ operation: Int32, _ operand: UInt32, yes: UInt8 = 0, no: UInt8 = 0) {
    code.append(sock_filter(code: UInt16(truncatingIfNeeded: operation), jt: yes, jf: no, k: operand))
  }

  /// The finished program; `nil` if it is too long for the kernel, or a label has no position.
  var instructions: [sock_filter]? {
    guard code.count <= Self.limit else { return nil }
    var code = code
    for (place, label) in open {
      guard let target = places[label], target > place else { return nil }
      code[place].k = UInt32(target - place - 1)
    }
    return code
  }
}

/// The result of a load for this number, if the kernel has written it in host byte order.
func host(_ number: UInt16) -> UInt32 { UInt32(number.bigEndian) }
func host(_ number: UInt32) -> UInt32 { number.bigEndian }
