internal import AgentCore
internal import KernelNetwork
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// Calls back once, soon after a packet has passed a link, until it is released.
final class PacketWait {
  /// By then the engine has usually made its handshake. The program that sent the packet waits for that, and not for the agent, which
  /// would only take processor time from both.
  private static let delay = Duration.milliseconds(10)

  private let socket: PacketSocket
  private var source: EventSource?
  private var timer: EventSource?

  init(on link: InterfaceIndex, _ packets: WatchedPackets, _ loop: EventLoop, _ came: @escaping () -> Void) throws {
    socket = try PacketSocket(on: link, withMulticasts: packets == .all)
    source = try loop.whenReadable(socket.descriptor.number) { [weak self] in
      guard let self, timer == nil else { return }
      source?.isEnabled = false
      timer = try? loop.at(.now + Self.delay, came)
      if timer == nil { came() }
    }
  }
}
