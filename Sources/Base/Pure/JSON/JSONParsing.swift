// The only file that uses jansson.
internal import CJansson

extension JSON {
  /// Parses one value. Rejects duplicate keys, trailing text, nesting beyond jansson's limit of 2048, whole numbers beyond 64 bits and
  /// others beyond a double's range. U+0000 becomes U+FFFD: no text of ours has it, and a library in C would take what is before it for the
  /// whole. What a program reports is not refused for it, because a server may have put it there.
  public init(parsing bytes: some Collection<UInt8>) throws(JSONError) {
    var failure = json_error_t()
    let value = unsafe Array(bytes).withUnsafeBytes { buffer in
      unsafe json_loadb(buffer.baseAddress, buffer.count, Flag.rejectDuplicates | Flag.decodeAny | Flag.allowNUL, &failure)
    }
    guard let value = unsafe value else {
      let reason = unsafe withUnsafeBytes(of: &failure.text) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      throw JSONError(line: Int(failure.line), column: Int(failure.column), reason: reason)
    }
    defer { unsafe json_decref(value) }
    self = unsafe JSON(value)
  }

  private init(_ value: UnsafeMutablePointer<json_t>) {
    switch unsafe value.pointee.type {
    case JSON_OBJECT:
      var members: [Member] = []
      var iterator = unsafe json_object_iter(value)
      while let place = unsafe iterator {
        if let key = unsafe json_object_iter_key(place), let member = unsafe json_object_iter_value(place) {
          unsafe members.append(Member(key: String(cString: key), value: JSON(member)))
        }
        unsafe iterator = json_object_iter_next(value, place)
      }
      self = .object(members)
    case JSON_ARRAY:
      var items: [JSON] = []
      for index in unsafe 0..<json_array_size(value) {
        if let item = unsafe json_array_get(value, index) { unsafe items.append(JSON(item)) }
      }
      self = .array(items)
    case JSON_STRING:
      let bytes = unsafe UnsafeRawBufferPointer(start: json_string_value(value), count: json_string_length(value))
      let text = unsafe String(decoding: bytes, as: UTF8.self)
      self = .string(text.utf8.contains(0) ? text.replacing("\0", with: "\u{fffd}") : text)
    case JSON_INTEGER: self = unsafe .integer(Int64(json_integer_value(value)))
    case JSON_REAL: self = unsafe .real(json_real_value(value))
    case JSON_TRUE: self = .bool(true)
    case JSON_FALSE: self = .bool(false)
    default: self = .null
    }
  }

  /// Flags of jansson.h, which defines them as macros with casts.
  private enum Flag {
    static let rejectDuplicates = 0x1
    static let decodeAny = 0x4
    static let allowNUL = 0x10
  }
}

/// The position at which a text is not JSON any more. Lines count from 1.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  public let line: Int
  public let column: Int
  public let reason: String

  public var description: String { "line \(line), column \(column): \(reason)" }
}
