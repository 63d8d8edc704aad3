package import FlowProtocol
internal import Glibc
package import NetworkTypes

/// Events of a stream. After `broken` there is none.
package enum StreamEvent {
  case data([UInt8])
  /// All bytes are sent that it kept.
  case drained
  /// The other end sends no more.
  case ended
  case broken
}

/// A stream of bytes to a client, or to a destination.
package protocol FlowStream: AnyObject {
  /// Begins to read, and calls back from the loop. Once.
  func begin(_ handler: @escaping (StreamEvent) -> Void)
  /// Sends bytes, and keeps those that it cannot send now. `false`: it keeps some; `drained` follows.
  func send(_ bytes: [UInt8]) -> Bool
  /// Ends the direction to the other end, after the bytes that it keeps.
  func finish()
  /// Reads nothing until `resume`.
  func pause()
  func resume()
  /// Ends all. The handler is not called any more.
  func close()
}

/// Datagrams of one association, from one port.
package protocol FlowDatagrams: AnyObject {
  /// Sends a datagram; it may be lost.
  func send(_ data: [UInt8], to endpoint: Endpoint)
  func close()
}

/// Something that happens to datagrams.
package enum DatagramEvent {
  /// One came for the client.
  case came(RelayedDatagram)
  /// None can be sent or come any more.
  case ended
}

/// A flow that is being opened. It is given up when nobody keeps it.
package protocol FlowAttempt: AnyObject {}

/// The way to destinations. Callbacks come from the loop, never during the call.
package protocol FlowOutlet: AnyObject {
  func connect(to endpoint: Endpoint, then: @escaping (Result<any FlowStream, FlowFailure>) -> Void) -> any FlowAttempt
  func datagrams(
    then: @escaping (Result<any FlowDatagrams, FlowFailure>) -> Void, deliver: @escaping (DatagramEvent) -> Void
  ) -> any FlowAttempt
}

extension FlowFailure {
  /// The reason behind an error of connect(2) or socket(2).
  package init(code: Int32) {
    self =
      switch code {
      // A firewall's verdict, a kill switch, or a route of the type `prohibit`.
      case EPERM, EACCES: .forbidden
      case ENETUNREACH, EADDRNOTAVAIL, ENETDOWN: .networkUnreachable
      case EHOSTUNREACH, EHOSTDOWN: .hostUnreachable
      case ECONNREFUSED, ECONNRESET: .refused
      case ETIMEDOUT: .timedOut
      case EAFNOSUPPORT: .unsupportedAddress
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: .crowded
      default: .general
      }
  }
}
