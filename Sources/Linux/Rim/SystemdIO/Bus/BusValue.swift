package import LinuxIO

/// A value of a D-Bus message. Variants are replaced by their content; structures are lists; a dictionary with text keys keeps them.
package enum BusValue: Equatable, Sendable {
  case bool(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case number(Double)
  /// Strings, object paths and signatures.
  case text(String)
  /// `ay`.
  case bytes([UInt8])
  case list([BusValue])
  case dictionary([String: BusValue])
  /// `h`, a descriptor of its own, which equals itself alone.
  case descriptor(FileDescriptor)

  package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  package var text: String? { if case .text(let value) = self { value } else { nil } }
  package var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
  package var list: [BusValue]? { if case .list(let value) = self { value } else { nil } }
  package var descriptor: FileDescriptor? { if case .descriptor(let value) = self { value } else { nil } }
  package var dictionary: [String: BusValue]? { if case .dictionary(let value) = self { value } else { nil } }

  /// A whole number that is not negative.
  package var unsigned: UInt64? {
    switch self {
    case .unsigned(let value): value
    case .integer(let value): UInt64(exactly: value)
    default: nil
    }
  }

  package subscript(key: String) -> BusValue? { dictionary?[key] }

  /// A member of a structure or an array; `nil` if there is none.
  package subscript(index: Int) -> BusValue? { list.flatMap { $0.indices.contains(index) ? $0[index] : nil } }
}
