import JSON

/// The reason why bytes are no message.
package struct NameMessageError: Error, Equatable, Sendable, CustomStringConvertible {
  package let description: String
}

/// A message with the version of the protocol.
private struct Envelope<Message: Codable>: Codable {
  static var version: Int { 2 }

  var version = Self.version
  var message: Message
}

extension NameOrder {
  package var bytes: [UInt8] { encoded(self) }

  /// Reads a message; any bytes give a value or an error.
  package init(_ bytes: [UInt8]) throws(NameMessageError) { self = try decoded(bytes) }
}

extension NameReport {
  package var bytes: [UInt8] { encoded(self) }

  /// Reads a message of a program that may be compromised; any bytes give a value or an error.
  package init(_ bytes: [UInt8]) throws(NameMessageError) { self = try decoded(bytes) }
}

private func encoded<Message: Codable>(_ message: Message) -> [UInt8] {
  Array(JSON(encoding: Envelope(message: message)).text().utf8)
}

private func decoded<Message: Codable>(_ bytes: [UInt8]) throws(NameMessageError) -> Message {
  let json: JSON
  do throws(JSONError) { json = try JSON(parsing: bytes) } catch { throw NameMessageError(description: "it is no JSON: \(error.reason)") }
  do throws(JSONMismatch) {
    let envelope = try json.decoded(as: Envelope<Message>.self)
    guard envelope.version == Envelope<Message>.version else {
      throw JSONMismatch(at: [], "version: it is not \(Envelope<Message>.version)")
    }
    return envelope.message
  } catch {
    throw NameMessageError(description: error.description)
  }
}
