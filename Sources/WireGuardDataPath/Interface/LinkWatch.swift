internal import CWireGuardIO
internal import Glibc
internal import LinuxIO

/// Whether the inner link is up, its MTU, and its end, as the kernel tells them; and when the machine's own addresses change, or its routes where
/// those matter. Needs no privilege.
final class LinkWatch {
  enum News {
    case state(isUp: Bool, mtu: Int)
    case deleted
    /// Datagrams may leave by another way than before.
    case ways
  }

  private let name: String
  private let index: UInt32
  private let socket: FileDescriptor
  private var source: EventSource?

  init(_ name: String, on loop: EventLoop, then handler: @escaping (News) -> Void) throws(SystemError) {
    self.name = name
    index = if_nametoindex(name)
    let number = cwg_link_watch(index)
    guard index != 0, number >= 0 else { throw .last("watch the link \(name)") }
    socket = FileDescriptor(owning: number)
    source = try loop.whenReadable(number) { [weak self] in self?.read(then: handler) }
  }

  /// What holds now.
  var state: News {
    var (isUp, mtu): (Int32, Int32) = (0, 0)
    guard cwg_link_state(name, &isUp, &mtu) == 0 else { return .deleted }
    return .state(isUp: isUp != 0, mtu: Int(mtu))
  }

  /// Whether changes of routes and rules are heard too.
  var hearsRoutes = false {
    didSet { if hearsRoutes != oldValue { _ = cwg_link_watch_routes(socket.number, hearsRoutes ? 1 : 0) } }
  }

  private func read(then handler: (News) -> Void) {
    var (isUp, mtu): (Int32, Int32) = (0, 0)
    // However many changes are waiting, they are one.
    var waysChanged = false
    defer { if waysChanged { handler(.ways) } }
    while true {
      switch Int(cwg_link_read(socket.number, index, &isUp, &mtu)) {
      case CWG_LINK_NOTHING: continue
      case CWG_LINK_CHANGED: handler(.state(isUp: isUp != 0, mtu: Int(mtu)))
      case CWG_LINK_DELETED: return handler(.deleted)
      case CWG_WAYS_CHANGED: waysChanged = true
      case CWG_LINK_LOST:
        handler(state)
        waysChanged = true
      default: return
      }
    }
  }
}
