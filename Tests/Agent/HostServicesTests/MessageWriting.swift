import CSystemd

/// Reads and writes the messages of a service that a test plays on the bus.
protocol MessageWriting {}

extension MessageWriting {
  /// The next argument, where it is a text.
  func text(in message: OpaquePointer) -> String? {
    var text: UnsafePointer<CChar>?
    guard sd_bus_message_read_basic(message, code("s"), &text) > 0, let text else { return nil }
    return String(cString: text)
  }

  func append(_ type: Character, _ text: String, to reply: OpaquePointer?) {
    _ = text.withCString { sd_bus_message_append_basic(reply, code(type), $0) }
  }

  func code(_ type: Character) -> CChar { CChar(bitPattern: type.asciiValue ?? 0) }
}
