internal import CSystemd
internal import LinuxIO
internal import NetworkTypes

/// An argument of a bus method, with its type in the D-Bus specification.
package indirect enum BusArgument: Equatable, Sendable {
  /// `s`.
  case string(String)
  /// `o`.
  case path(String)
  /// `q`.
  case uint16(UInt16)
  /// `u`.
  case uint32(UInt32)
  /// `t`.
  case uint64(UInt64)
  /// `i`.
  case int32(Int32)
  /// `b`.
  case bool(Bool)
  /// `ay`.
  case bytes([UInt8])
  /// `(…)`.
  case structure([BusArgument])
  /// `a…`, of elements of one type; an empty array needs it explicitly.
  case array(of: String, [BusArgument])
  /// `v`.
  case variant(BusArgument)
  /// `{…}`, an element of an array.
  case entry(BusArgument, BusArgument)

  package var signature: String {
    switch self {
    case .string: "s"
    case .path: "o"
    case .uint16: "q"
    case .uint32: "u"
    case .uint64: "t"
    case .int32: "i"
    case .bool: "b"
    case .bytes: "ay"
    case .structure(let members): "(" + members.map(\.signature).joined() + ")"
    case .array(let element, _): "a" + element
    case .variant: "v"
    case .entry(let key, let value): "{" + key.signature + value.signature + "}"
    }
  }

  /// `as`.
  package static func strings(_ texts: [String]) -> BusArgument { .array(of: "s", texts.map { .string($0) }) }

  /// `a{sv}`, in the order of the keys.
  package static func properties(_ values: [String: BusArgument]) -> BusArgument {
    .array(of: "{sv}", values.sorted { $0.key < $1.key }.map { .entry(.string($0.key), .variant($0.value)) })
  }

  /// Returns 0 or more; else the negative error of sd-bus.
  func append(to message: OpaquePointer) -> Int32 {
    switch self {
    case .string(let text): return sd_bus_message_append_basic(message, Self.code("s"), Self.whole(text))
    case .path(let text): return sd_bus_message_append_basic(message, Self.code("o"), Self.whole(text))
    case .uint16(var number): return sd_bus_message_append_basic(message, Self.code("q"), &number)
    case .uint32(var number): return sd_bus_message_append_basic(message, Self.code("u"), &number)
    case .uint64(var number): return sd_bus_message_append_basic(message, Self.code("t"), &number)
    case .int32(var number): return sd_bus_message_append_basic(message, Self.code("i"), &number)
    case .bool(let flag):
      var number: Int32 = flag ? 1 : 0
      return sd_bus_message_append_basic(message, Self.code("b"), &number)
    case .bytes(let bytes):
      return bytes.withUnsafeBytes { sd_bus_message_append_array(message, Self.code("y"), $0.baseAddress, $0.count) }
    case .structure(let members): return inside(message, "r", members.map(\.signature).joined(), members)
    case .array(let element, let members): return inside(message, "a", element, members)
    case .variant(let content): return inside(message, "v", content.signature, [content])
    case .entry(let key, let value): return inside(message, "e", key.signature + value.signature, [key, value])
    }
  }

  /// The text without U+0000, where a C string would end, so that a part of it would pass for the whole. The sign for unreadable characters
  /// in its place makes no valid path.
  private static func whole(_ text: String) -> String { text.utf8.contains(0) ? text.replacing("\0", with: "\u{fffd}") : text }

  private func inside(_ message: OpaquePointer, _ type: Unicode.Scalar, _ contents: String, _ members: [BusArgument]) -> Int32 {
    var result = sd_bus_message_open_container(message, Self.code(type), contents)
    for member in members where result >= 0 { result = member.append(to: message) }
    return result < 0 ? result : sd_bus_message_close_container(message)
  }

  private static func code(_ type: Unicode.Scalar) -> CChar { CChar(bitPattern: UInt8(ascii: type)) }
}
