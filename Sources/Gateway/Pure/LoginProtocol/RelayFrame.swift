/// A message of WireGuard on its way through a relay: two bytes of length in network order, then the datagram (docs/wire-format.md).
package enum RelayFrame {
  /// The lengths of a datagram in bytes: from an empty transport message up to what any link's MTU needs.
  package static let lengths = 32...16_384

  /// WireGuard's kinds of messages: the first byte of a datagram, which three zeros follow.
  package enum Kind: UInt8, Sendable, CaseIterable {
    case initiation = 1
    case response = 2
    case cookieReply = 3
    case transport = 4

    /// `nil` if this is no message of WireGuard.
    package init?(_ datagram: some RandomAccessCollection<UInt8>) {
      guard RelayFrame.lengths.contains(datagram.count), let first = datagram.first, let kind = Kind(rawValue: first),
        datagram.dropFirst().prefix(3).allSatisfy({ $0 == 0 })
      else { return nil }
      self = kind
    }
  }

  /// Adds a datagram to the bytes of a stream; `false` if it is no message of WireGuard, and was left out.
  @discardableResult
  package static func append(_ datagram: some RandomAccessCollection<UInt8>, to stream: inout [UInt8]) -> Bool {
    guard Kind(datagram) != nil else { return false }
    stream += LoginFrame.bigEndian(datagram.count)
    stream += datagram
    return true
  }
}

/// The reason why a relay's stream is no longer read.
package enum RelayFrameError: Error, Hashable, Sendable {
  /// A length that no datagram has.
  case length
  /// No message of WireGuard.
  case kind
}

/// The datagrams of a stream, from pieces of any size. Keeps less than one frame.
package struct RelayStream: Sendable {
  private var waiting: [UInt8] = []

  package init() {}

  /// Takes a piece; returns the datagrams that it completes. After an error the stream is of no use.
  package mutating func receive(_ piece: some Collection<UInt8>) throws(RelayFrameError) -> [[UInt8]] {
    waiting += piece
    var datagrams: [[UInt8]] = []
    var start = 0
    while waiting.count - start >= 2 {
      let length = Int(waiting[start]) << 8 | Int(waiting[start + 1])
      guard RelayFrame.lengths.contains(length) else { throw .length }
      let end = start + 2 + length
      guard waiting.count >= end else { break }
      let datagram = Array(waiting[(start + 2)..<end])
      guard RelayFrame.Kind(datagram) != nil else { throw .kind }
      datagrams.append(datagram)
      start = end
    }
    waiting.removeFirst(start)
    return datagrams
  }
}
