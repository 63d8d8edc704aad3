public import NetworkTypes
public import ProviderProtocol

/// A connected socket to the network below the tunnel: Network Extension's `NWUDPSession` and `NWTCPConnection`. The agent connects it, so
/// its packets stay outside of the tunnel.
public protocol OutsideSocket: AnyObject {
  var transport: Transport { get }
  /// The address that it is connected to.
  var remote: Endpoint { get }
  /// Bytes that wait to be sent. For UDP always 0: what the network does not take at once is dropped, as anywhere on its way.
  var unsentBytes: Int { get }

  /// Calls the handler with what comes: datagrams, 1 to 64 at a time, or the next bytes of the stream. A second call replaces the handler.
  func receive(_ handler: @escaping (SocketInput) -> Void)

  /// Sends datagrams, or bytes of the stream, in their order.
  func send(_ data: [[UInt8]])

  /// Calls the handler once when less than 64 KiB wait to be sent, at once if that is so now.
  func whenDrained(_ handler: @escaping () -> Void)

  /// Stops and continues the calls of `receive`'s handler: the other end of a stream then has to wait.
  func pauseReceiving()

  func resumeReceiving()

  /// Closes the socket. The handlers are not called any more.
  func close()
}

/// The input of a socket: data, or its end.
public enum SocketInput: Hashable, Sendable {
  /// Datagrams, or bytes of the stream.
  case data([[UInt8]])
  /// The other end closed the stream, or the socket failed: why. A UDP socket reports an unreachable server so, and stays usable.
  case ended(reason: String)
}
