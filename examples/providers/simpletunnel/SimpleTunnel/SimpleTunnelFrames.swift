/// The frames of a SimpleTunnel connection: a length of 4 bytes, little-endian, which counts itself, and a binary property list.
public struct SimpleTunnelFrames: Sendable {
  /// Bytes of a frame, with its length.
  public static let longest = 131_072

  /// The reason why a stream is broken. Nothing can be read behind it.
  public enum Refusal: Error, Hashable, Sendable {
    /// A length that a frame cannot have.
    case length(UInt32)
    case message(SimpleTunnelMessage.Refusal)
  }

  private var buffer: [UInt8] = []

  public init() {}

  /// The bytes of a message; `nil` if it is longer than a frame.
  public static func frame(_ message: SimpleTunnelMessage) -> [UInt8]? {
    let payload = message.propertyList.encoded
    let length = payload.count + 4
    guard length <= longest else { return nil }
    return (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + payload
  }

  /// The messages that are complete with these bytes. After an error the stream has to be closed. At most one frame is kept.
  public mutating func receive(_ bytes: [UInt8]) throws(Refusal) -> [SimpleTunnelMessage] {
    buffer += bytes
    var messages: [SimpleTunnelMessage] = []
    var start = 0
    defer { buffer.removeFirst(start) }
    while buffer.count - start >= 4 {
      let length = (0..<4).reduce(UInt32(0)) { $0 | UInt32(buffer[start + $1]) << UInt32(8 * $1) }
      guard length > 4, length <= UInt32(Self.longest) else { throw .length(length) }
      guard buffer.count - start >= Int(length) else { break }
      let payload = Array(buffer[(start + 4)..<(start + Int(length))])
      start += Int(length)
      do throws(SimpleTunnelMessage.Refusal) {
        let list: PropertyList
        do throws(PropertyList.Refusal) { list = try PropertyList(decoding: payload) } catch { throw .list(error) }
        messages.append(try SimpleTunnelMessage(list))
      } catch {
        throw .message(error)
      }
    }
    return messages
  }
}
