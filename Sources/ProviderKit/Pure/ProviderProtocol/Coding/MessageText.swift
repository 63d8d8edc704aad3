internal import JSON

/// The bytes of a message: its JSON without blanks, as UTF-8.
func messageBytes(_ json: JSON) throws(MessageError) -> [UInt8] {
  let bytes = Array(json.text().utf8)
  guard bytes.count <= ProtocolLimits.message else { throw .tooLong(bytes.count) }
  // Options, events and contents come from programs: what would be refused there is refused here.
  guard !isNestedTooDeep(bytes) else { throw .tooDeep }
  return bytes
}

/// The members of a message without its type, and the type.
func messageMembers(_ bytes: [UInt8]) throws(MessageError) -> (type: String, members: MemberReader) {
  guard bytes.count <= ProtocolLimits.message else { throw .tooLong(bytes.count) }
  // Before the parser: it would build the levels first.
  guard !isNestedTooDeep(bytes) else { throw .tooDeep }
  let json: JSON
  do throws(JSONError) { json = try JSON(parsing: bytes) } catch { throw .notJSON(shortened(error.reason)) }
  var members = try MemberReader(json)
  return (try members.take("type", text(atMost: ProtocolLimits.word)), members)
}

/// Whether arrays and objects outside of strings are nested deeper than the limit. In text that is no JSON the answer means nothing.
func isNestedTooDeep(_ bytes: [UInt8]) -> Bool {
  var depth = 0
  var (isString, isEscaped) = (false, false)
  for byte in bytes {
    if isString {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isString = false
      }
      continue
    }
    switch byte {
    case UInt8(ascii: "\""): isString = true
    case UInt8(ascii: "["), UInt8(ascii: "{"):
      depth += 1
      if depth > ProtocolLimits.depth { return true }
    case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
    default: break
    }
  }
  return false
}

/// Whole milliseconds. A duration beyond 64 bits is the longest that has a number.
func milliseconds(_ duration: Duration) -> Int64 {
  let (seconds, attoseconds) = duration.components
  guard seconds.magnitude < 1 << 53 else { return seconds < 0 ? .min : .max }
  return seconds * 1000 + attoseconds / 1_000_000_000_000_000
}
