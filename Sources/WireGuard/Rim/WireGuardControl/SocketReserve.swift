/// Sockets that the parent opens while an interface starts, which takes as long. The interface asks for them when its link is up, and the
/// first handshake waits for the answer.
package final class SocketReserve {
  private struct Request: Equatable {
    let port: UInt16
    let mark: UInt32
    let pairs: Int
  }

  private var sockets: TunnelSockets?
  private var request: Request?
  /// Whether sockets have been asked for.
  private(set) var isUsed = false

  package init() {}

  /// Opens sockets for the first request, if it will be this one. Without effect after that, and if they cannot be opened: then the request
  /// gets the error.
  package func prepare(port: UInt16, mark: UInt32, pairs: Int) {
    guard request == nil else { return }
    request = Request(port: port, mark: mark, pairs: pairs)
    sockets = try? TunnelSockets.make(port: port, mark: mark, pairs: pairs)
  }

  /// The opened sockets if they are for this request. Others are closed, because they may have its port.
  func take(port: UInt16, mark: UInt32, pairs: Int) -> TunnelSockets? {
    let asked = Request(port: port, mark: mark, pairs: pairs)
    defer { (request, sockets, isUsed) = (request ?? asked, nil, true) }
    return request == asked ? sockets : nil
  }
}
