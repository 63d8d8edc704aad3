internal import CSystemd
internal import Glibc
internal import LinuxIO

/// Reads the values of a message, from the present position to its end. sd-bus has validated it. Unsupported types are skipped.
struct BusMessageReader {
  private let message: OpaquePointer

  init(_ message: OpaquePointer) { self.message = message }

  func values() -> [BusValue] {
    var values: [BusValue] = []
    while let (type, contents) = peek() {
      guard let value = value(type, contents) else { break }
      values.append(value)
    }
    return values
  }

  private func peek() -> (type: UInt8, contents: String)? {
    var type: CChar = 0
    var contents: UnsafePointer<CChar>?
    guard sd_bus_message_peek_type(message, &type, &contents) > 0 else { return nil }
    return (UInt8(bitPattern: type), contents.map { String(cString: $0) } ?? "")
  }

  private func value(_ type: UInt8, _ contents: String) -> BusValue? {
    switch type {
    case UInt8(ascii: "b"): return basic(type, Int32(0)).map { .bool($0 != 0) }
    case UInt8(ascii: "y"): return basic(type, UInt8(0)).map { .unsigned(UInt64($0)) }
    case UInt8(ascii: "n"): return basic(type, Int16(0)).map { .integer(Int64($0)) }
    case UInt8(ascii: "q"): return basic(type, UInt16(0)).map { .unsigned(UInt64($0)) }
    case UInt8(ascii: "i"): return basic(type, Int32(0)).map { .integer(Int64($0)) }
    case UInt8(ascii: "u"): return basic(type, UInt32(0)).map { .unsigned(UInt64($0)) }
    case UInt8(ascii: "x"): return basic(type, Int64(0)).map { .integer($0) }
    case UInt8(ascii: "t"): return basic(type, UInt64(0)).map { .unsigned($0) }
    case UInt8(ascii: "d"): return basic(type, Double(0)).map { .number($0) }
    case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"):
      return basic(type, UnsafePointer<CChar>?.none).map { .text($0.map { String(cString: $0) } ?? "") }
    case UInt8(ascii: "h"): return basic(type, Int32(-1)).map(descriptor)
    case UInt8(ascii: "v"): return inside(type, contents) { values().first }
    case UInt8(ascii: "r"): return inside(type, contents) { .list(values()) }
    case UInt8(ascii: "a") where contents == "y": return bytes()
    case UInt8(ascii: "a") where contents.hasPrefix("{s") || contents.hasPrefix("{o"): return inside(type, contents, entries)
    case UInt8(ascii: "a"): return inside(type, contents) { .list(values()) }
    // The entry of a dictionary whose keys are not text.
    case UInt8(ascii: "e"): return inside(type, contents) { .list(values()) }
    default: return sd_bus_message_skip(message, nil) >= 0 ? .list([]) : nil
    }
  }

  private func basic<Value>(_ type: UInt8, _ empty: Value) -> Value? {
    var value = empty
    let result = withUnsafeMutableBytes(of: &value) {
      sd_bus_message_read_basic(message, CChar(bitPattern: type), $0.baseAddress)
    }
    return result > 0 ? value : nil
  }

  /// The message closes its own descriptor. Without a free one for the copy, the value is left out.
  private func descriptor(_ number: Int32) -> BusValue {
    let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
    return copy < 0 ? .list([]) : .descriptor(FileDescriptor(owning: copy))
  }

  private func bytes() -> BusValue? {
    var start: UnsafeRawPointer?
    var count = 0
    guard sd_bus_message_read_array(message, CChar(bitPattern: UInt8(ascii: "y")), &start, &count) >= 0 else { return nil }
    return .bytes(Array(UnsafeRawBufferPointer(start: start, count: count)))
  }

  private func entries() -> BusValue? {
    var entries: [String: BusValue] = [:]
    while let (type, contents) = peek(), type == UInt8(ascii: "e") {
      let entry = inside(type, contents) { .list(values()) }
      guard let key = entry?[0]?.text, let value = entry?[1] else { return nil }
      entries[key] = value
    }
    return .dictionary(entries)
  }

  /// Enters a container, reads its content, and leaves it.
  private func inside(_ type: UInt8, _ contents: String, _ read: () -> BusValue?) -> BusValue? {
    guard sd_bus_message_enter_container(message, CChar(bitPattern: type), contents) > 0 else { return nil }
    let value = read()
    guard sd_bus_message_exit_container(message) >= 0 else { return nil }
    return value
  }
}
