/// The fixed parts of a DNS message (RFC 1035 section 4.1.1).
enum MessageFormat {
  /// Bytes of the header.
  static let header = 12
  /// Bytes of a name with the length bytes and the root's (RFC 1035 section 3.1).
  static let longestName = 255
  /// Bytes of a message over UDP without EDNS (RFC 1035 section 4.2.1).
  static let plainLimit = 512
  /// The payload size that we announce, which avoids fragments on nearly every path (RFC 6891 section 6.2.3; DNS Flag Day 2020).
  static let payload: UInt16 = 1232
}

/// The second word of the header.
enum HeaderFlags {
  static let response: UInt16 = 0x8000
  static let opcode: UInt16 = 0x7800
  static let truncated: UInt16 = 0x0200
  static let recursionDesired: UInt16 = 0x0100
  static let recursionAvailable: UInt16 = 0x0080
  static let authenticData: UInt16 = 0x0020
  static let checkingDisabled: UInt16 = 0x0010
  static let code: UInt16 = 0x000f
  /// The flags of a question that its answer depends on.
  static let ofQuestion = recursionDesired | authenticData | checkingDisabled
}

/// A code of a response (RFC 1035 section 4.1.1; RFC 6895 section 2.3).
package enum ResponseCode {
  package static let noError: UInt16 = 0
  package static let formatError: UInt16 = 1
  package static let serverFailure: UInt16 = 2
  package static let noSuchName: UInt16 = 3
  package static let notImplemented: UInt16 = 4
  package static let refused: UInt16 = 5
  /// An unknown version of EDNS (RFC 6891 section 9).
  static let badVersion: UInt16 = 16
}

/// A type of records.
package enum RecordType {
  package static let a: UInt16 = 1
  static let alias: UInt16 = 5
  package static let aaaa: UInt16 = 28
  static let opt: UInt16 = 41
  static let tlsa: UInt16 = 52
  package static let svcb: UInt16 = 64
  package static let https: UInt16 = 65
  static let incrementalTransfer: UInt16 = 251
  static let transfer: UInt16 = 252
}

/// The reason that a failing response gives (RFC 8914).
package enum ExtendedError: UInt16, Equatable, Sendable {
  /// The answer is withheld by a policy: its addresses belong inside a tunnel.
  case blocked = 15
  /// No server of the name can be reached: its tunnel is down, or no server answers.
  case noReachableAuthority = 22
  /// The network does not take what is sent to the servers.
  case networkError = 23
  /// The route of its addresses could not be made in time ("Not Ready").
  case noRoute = 14
}
