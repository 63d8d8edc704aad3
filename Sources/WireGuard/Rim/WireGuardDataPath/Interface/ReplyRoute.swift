internal import CWireGuardIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import Synchronization
internal import WireGuardEngine

/// Chooses the source address for datagrams to a peer, as the kernel's WireGuard does. It is the address to which the peer sends, if the
/// routing table routes packets from it to the peer over the incoming link. Otherwise the routing table chooses.
///
/// The peers of a machine with several addresses know it by one of them. Their NAT accepts answers from that address only.
///
/// It is used by the control thread and, before an answer to a peer that has moved, by the sending thread.
final class ReplyRoute: Sendable {
  private struct State {
    let socket: FileDescriptor
    var mark: UInt32 = 0
    var hasChosen = false

    /// The outgoing link, and the source address if `from` has none.
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

  /// Sets the mark of the interface's sockets.
  func use(mark: UInt32) { state.withLock { $0.mark = mark } }

  /// True if, since the last call, the source address for some peer differed from the routing table's choice.
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
