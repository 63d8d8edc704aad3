internal import CExpat

/// An expat event, as a value. Names and texts that are not UTF-8 are repaired.
package enum XMLEvent {
  case begin(String)
  case end(String)
  /// A part of the text of an element, in UTF-8; a part may end within a character.
  case characters([UInt8])
  /// The document type has its own declarations, such as entities.
  case ownDeclarations
  /// An entity that XML does not define. It is not expanded.
  case undefinedEntity
}

/// The reason why a text was not read to its end.
package struct XMLSyntaxError: Error {
  /// expat's error message.
  package let reason: String
  package let line: Int
}

/// Reads a whole XML document and passes its events to `handle`, each with its line from 1. If `handle` returns `false`, reading stops
/// without an error. Nothing is fetched. `handle` may escape, because the check that it does not would put the length of this file's path
/// into the program (scripts/reproduce).
///
/// This is the only code that accesses expat's memory. expat is hardened against hostile input and does not recurse.
///
/// - Parameter bytes: fewer than 2 GiB.
package func readXML(_ bytes: [UInt8], handle: @escaping (_ event: XMLEvent, _ line: Int) -> Bool) throws(XMLSyntaxError) {
  guard let parser = XML_ParserCreate(nil), let count = Int32(exactly: bytes.count) else {
    throw XMLSyntaxError(reason: "out of memory", line: 1)
  }
  defer { XML_ParserFree(parser) }
  let receiver = Receiver(parser, handle)
  XML_SetUserData(parser, Unmanaged.passUnretained(receiver).toOpaque())
  XML_SetStartElementHandler(parser) { data, name, _ in receiverOf(data)?.receive(.begin(textOf(name))) }
  XML_SetEndElementHandler(parser) { data, name in receiverOf(data)?.receive(.end(textOf(name))) }
  XML_SetCharacterDataHandler(parser) { data, start, count in
    guard let start, count > 0 else { return }
    receiverOf(data)?.receive(.characters(Array(UnsafeRawBufferPointer(start: start, count: Int(count)))))
  }
  XML_SetStartDoctypeDeclHandler(parser) { data, _, _, _, hasInternalSubset in
    if hasInternalSubset != 0 { receiverOf(data)?.receive(.ownDeclarations) }
  }
  XML_SetSkippedEntityHandler(parser) { data, _, _ in receiverOf(data)?.receive(.undefinedEntity) }
  let status = bytes.withUnsafeBytes { buffer in
    XML_Parse(parser, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), count, 1)
  }
  let failure = withExtendedLifetime(receiver) { () -> XMLSyntaxError? in
    guard !receiver.isStopped, status != XML_STATUS_OK else { return nil }
    let reason = XML_ErrorString(XML_GetErrorCode(parser)).map { String(cString: $0) } ?? "not well-formed"
    return XMLSyntaxError(reason: reason, line: receiver.line)
  }
  if let failure { throw failure }
}

/// The state that expat's handlers access through the user-data pointer, during `readXML`.
private final class Receiver {
  private let parser: XML_Parser
  private let handle: (XMLEvent, Int) -> Bool
  private(set) var isStopped = false

  init(_ parser: XML_Parser, _ handle: @escaping (XMLEvent, Int) -> Bool) {
    self.parser = parser
    self.handle = handle
  }

  var line: Int { Int(XML_GetCurrentLineNumber(parser)) }

  /// expat may send one or two more events after it was stopped.
  func receive(_ event: XMLEvent) {
    if isStopped || handle(event, line) { return }
    isStopped = true
    XML_StopParser(parser, XML_Bool(XML_FALSE))
  }
}

private func receiverOf(_ data: UnsafeMutableRawPointer?) -> Receiver? {
  data.map { Unmanaged<Receiver>.fromOpaque($0).takeUnretainedValue() }
}

private func textOf(_ name: UnsafePointer<XML_Char>?) -> String { name.map { String(cString: $0) } ?? "" }
