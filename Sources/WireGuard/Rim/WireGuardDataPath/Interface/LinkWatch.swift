internal import CWireGuardIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import WireGuardControl

/// Watches the inner link by rtnetlink: its state, its MTU and its deletion. Also reports changes of the machine's own addresses, and of
/// its routes if those matter. Needs no privilege and opens nothing after `init`.
///
/// The link may be moved to another network namespace, as a container's only way out (wireguard.com/netns). Here that looks like a
/// deletion. The TUN device's descriptor tells the difference, and from then on the link's state. The MTU keeps its last value.
final class LinkWatch {
  enum News {
    case state(isUp: Bool, mtu: Int)
    case deleted
    /// The route of outgoing datagrams may have changed.
    case ways
  }

  /// The polling interval for a link that goes down without a notification.
  private static let pause = Duration.seconds(1)

  private let device: FileDescriptor
  private let index: UInt32
  private let socket: FileDescriptor
  private let loop: DescriptorLoop
  private let handler: (News) -> Void
  private var mtu: Int
  private var source: DescriptorLoop.Source?
  /// Waits for a moved link to come up.
  private var rise: DescriptorLoop.Source?
  private var nextLook: DescriptorLoop.Source?

  /// `mtu` applies until the kernel reports another one. The handler gets the link's state soon, from the loop.
  init(_ tun: TunDevice, mtu: Int, on loop: DescriptorLoop, then handler: @escaping (News) -> Void) throws(SystemError) {
    device = tun.descriptor
    self.loop = loop
    self.mtu = mtu
    self.handler = handler
    // 0: the link has been moved away already.
    index = if_nametoindex(tun.name)
    let number = cwg_link_watch(index)
    guard number >= 0 else { throw .last("watch the link \(tun.name)") }
    socket = FileDescriptor(owning: number)
    source = try loop.whenReadable(number) { [weak self] in self?.read() }
    guard cwg_link_ask(number, index) == 0 else { throw .last("ask for the state of the link \(tun.name)") }
  }

  /// Also watch changes of routes and rules.
  var hearsRoutes = false {
    didSet { if hearsRoutes != oldValue { _ = cwg_link_watch_routes(socket.number, hearsRoutes ? 1 : 0) } }
  }

  private func read() {
    var (isUp, heard): (Int32, Int32) = (0, Int32(mtu))
    // Any number of pending changes are reported as one.
    var waysChanged = false
    defer { if waysChanged { handler(.ways) } }
    while true {
      switch Int(cwg_link_read(socket.number, index, &isUp, &heard)) {
      case CWG_LINK_NOTHING: continue
      case CWG_LINK_CHANGED: reportMTU(mtu: Int(heard))
      case CWG_LINK_GONE: follow()
      case CWG_WAYS_CHANGED: waysChanged = true
      case CWG_LINK_LOST:
        _ = cwg_link_ask(socket.number, index)
        waysChanged = true
      default: return
      }
    }
  }

  /// Reads the state from the device. A notification that the link went down may be outdated. The link may be up again, with traffic in
  /// sessions that a false "down" would end.
  private func reportMTU(mtu: Int) {
    // Another link may have got this index since.
    guard nextLook == nil else { return }
    self.mtu = mtu
    handler(.state(isUp: Int(cwg_tun_state(device.number)) == CWG_TUN_UP, mtu: mtu))
  }

  /// Follows a link that was moved to another namespace.
  private func follow() {
    guard nextLook == nil else { return }
    // A device becomes writable at the moment at which its link comes up.
    rise = try? loop.whenReady(device.number, events: cwg_tun_rises) { [weak self] _ in self?.look() }
    look()
  }

  private func look() {
    let state = Int(cwg_tun_state(device.number))
    guard state != CWG_TUN_GONE else {
      nextLook = nil
      rise = nil
      return handler(.deleted)
    }
    nextLook = try? loop.at(.now + Self.pause) { [weak self] in self?.look() }
    handler(.state(isUp: state == CWG_TUN_UP, mtu: mtu))
  }
}
