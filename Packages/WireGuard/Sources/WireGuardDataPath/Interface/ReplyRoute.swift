internal import CWireGuardIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import Synchronization
internal import WireGuardEngine

/// Decides from which of our addresses a peer is answered, as the kernel's WireGuard does: from that which the peer sends to, where the
/// routing table leads packets from it to the peer by the link that they came by; else by the routing table's choice.
///
/// A machine with several addresses is known to its peers by one of them, and their NAT lets in answers of that one alone.
///
/// Asked by the control thread and, before it answers a peer that has moved, by the thread that sends.
final class ReplyRoute: Sendable {
  private struct State {
    let socket: FileDescriptor
    var mark: UInt32 = 0
    var hasChosen = false

    /// By which link, and from which address if it is not said.
    func route(_ to: UnsafePointer<cwg_address>, _ from: UnsafePointer<cwg_local>?) -> DatagramAddress.LocalAddress? {
      var link: UInt32 = 0
      var chosen = cwg_local()
      guard cwg_route(socket.number, to, from, mark, &link, &chosen) == 0 else { return nil }
      return DatagramAddress.LocalAddress(chosen, link: link, family: to.pointee.generic.sa_family == AF_INET6 ? .v6 : .v4)
    }
  }

  private let state: Mutex<State>

  init() throws(SystemError) {
    let number = cwg_route_socket()
    guard number >= 0 else { throw .last("make a socket for asking for routes") }
    state = Mutex(State(socket: FileDescriptor(owning: number)))
  }

  /// Of the interface's sockets.
  func use(mark: UInt32) { state.withLock { $0.mark = mark } }

  /// Whether, since this was asked last, some peer is sent to from another address than the routing table's choice.
  func takeChoice() -> Bool {
    state.withLock { state in
      defer { state.hasChosen = false }
      return state.hasChosen
    }
  }

  func callAsFunction(_ source: DatagramAddress) -> DatagramAddress {
    guard source.local != .any else { return source }
    return state.withLock { state in
      var to = source.socketAddress
      var ours = source.local.address(source.address.family)
      let chosen = state.route(&to, nil)
      if let chosen, chosen.high == source.local.high, chosen.low == source.local.low { return source.remote }
      guard let way = state.route(&to, &ours), way.link == source.local.link else { return source.remote }
      state.hasChosen = true
      return source
    }
  }
}
