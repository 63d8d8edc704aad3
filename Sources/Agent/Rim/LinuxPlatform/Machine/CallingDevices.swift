package import KernelModel
internal import LinuxIO
package import NetworkTypes

/// Devices that call their peers anew, and whose observation waits a moment for the answer.
///
/// A gateway nearby answers within a millisecond. Without this wait, a plan without routes and a poll would come first, and would take the
/// processor that the engine needs for the answer.
package struct CallingDevices {
  /// The longest wait; a peer that is further away is polled for.
  private static let patience = Duration.microseconds(1500)

  private var links: Set<String> = []

  package init() {}

  /// Those that these steps configure from scratch, with a peer that is called at once.
  package init(_ steps: [Step]) {
    for step in steps {
      switch step {
      case .configureWireGuard(let link, let device), .renewSessions(let link, let device):
        if device.peers.contains(where: { $0.persistentKeepalive > 0 }) { links.insert(link) }
      default: break
      }
    }
  }

  /// The state of the device, as soon as a peer has answered. `pause`: between two reads.
  package func state(
    of link: String, by clock: () -> Moment = { .now }, pause: () -> Void = { giveWay(for: .microseconds(100)) },
    _ read: (String) -> WireGuardState?
  ) -> WireGuardState? {
    let first = read(link)
    guard links.contains(link), let first, !first.peers.isEmpty else { return first }
    var state = first
    let end = clock() + Self.patience
    while !state.peers.contains(where: { $0.lastHandshake > 0 }), clock() < end {
      pause()
      guard let next = read(link) else { return nil }
      state = next
    }
    return state
  }
}
