internal import CJansson
internal import Glibc
internal import NetworkTypes

extension JSON {
  /// The value as text: on one line, or indented by two spaces for people. What could steer a terminal is escaped (`\u009b`), so
  /// the text may be printed as it is.
  package func text(indented: Bool = false) -> String {
    guard let value = jansson(self) else { return "null" }
    defer { json_decref(value) }
    let flags = JSON_ENCODE_ANY_FLAG | (indented ? 2 : JSON_COMPACT_FLAG)
    guard let text = json_dumps(value, flags) else { return "null" }
    defer { free(text) }
    return escapedInJSON(String(cString: text))
  }

  /// Reads one value; refuses duplicate keys, trailing text, and nesting beyond jansson's bound of 2048. Fractions are cut off.
  package init(parsing bytes: some Collection<UInt8>) throws(JSONError) {
    var failure = json_error_t()
    let value = Array(bytes).withUnsafeBytes { buffer in
      json_loadb(buffer.baseAddress, buffer.count, JSON_REJECT_DUPLICATES_FLAG | JSON_DECODE_ANY_FLAG | JSON_ALLOW_NUL_FLAG, &failure)
    }
    guard let value else {
      let reason = withUnsafeBytes(of: &failure.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      throw JSONError(line: Int(failure.line), column: Int(failure.column), reason: reason)
    }
    defer { json_decref(value) }
    self = JSON(value)
  }

  private init(_ value: UnsafeMutablePointer<json_t>) {
    switch value.pointee.type {
    case JSON_OBJECT:
      var members: [Member] = []
      var iterator = json_object_iter(value)
      while let place = iterator {
        if let key = json_object_iter_key(place), let member = json_object_iter_value(place) {
          members.append(Member(key: String(cString: key), value: JSON(member)))
        }
        iterator = json_object_iter_next(value, place)
      }
      self = .object(members)
    case JSON_ARRAY: self = .array((0..<json_array_size(value)).compactMap { json_array_get(value, $0).map(JSON.init) })
    case JSON_STRING:
      let length = json_string_length(value)
      let bytes = UnsafeRawBufferPointer(start: json_string_value(value), count: length)
      self = .string(String(decoding: bytes, as: UTF8.self))
    case JSON_INTEGER: self = .integer(Int64(json_integer_value(value)))
    case JSON_REAL: self = .integer(Int64(exactly: json_real_value(value).rounded(.towardZero)) ?? 0)
    case JSON_TRUE: self = .bool(true)
    case JSON_FALSE: self = .bool(false)
    default: self = .null
    }
  }
}

/// jansson escapes what is below U+0020 alone. Outside of strings a text of JSON has nothing unprintable but line feeds.
private func escapedInJSON(_ text: String) -> String {
  let isKept = { (scalar: Unicode.Scalar) in !scalar.isUnprintable || scalar == "\n" }
  if text.unicodeScalars.allSatisfy(isKept) { return text }
  var result = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    if isKept(scalar) {
      result.append(scalar)
    } else {
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16)
        result.append(contentsOf: ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).unicodeScalars)
      }
    }
  }
  return String(result)
}

/// Where a text stops being JSON. Lines count from 1.
package struct JSONError: Error, Hashable, Sendable {
  package let line: Int
  package let column: Int
  package let reason: String
}

// Flags of jansson.h, which defines them as macros with casts.
private let JSON_COMPACT_FLAG = 0x20
private let JSON_ENCODE_ANY_FLAG = 0x200
private let JSON_REJECT_DUPLICATES_FLAG = 0x1
private let JSON_DECODE_ANY_FLAG = 0x4
private let JSON_ALLOW_NUL_FLAG = 0x10

/// jansson's form of the value, with one reference that the caller owns.
private func jansson(_ value: JSON) -> UnsafeMutablePointer<json_t>? {
  switch value {
  case .null: return json_null()
  case .bool(let flag): return flag ? json_true() : json_false()
  case .integer(let number): return json_integer(json_int_t(number))
  case .string(let text):
    return text.utf8.withContiguousStorageIfAvailable { buffer in
      buffer.withMemoryRebound(to: CChar.self) { json_stringn($0.baseAddress, $0.count) }
    } ?? json_string(text)
  case .array(let items):
    let array = json_array()
    for item in items { json_array_append_new(array, jansson(item)) }
    return array
  case .object(let members):
    let object = json_object()
    for member in members { json_object_set_new(object, member.key, jansson(member.value)) }
    return object
  }
}
