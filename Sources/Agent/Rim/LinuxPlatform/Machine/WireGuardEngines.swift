internal import AgentCore
internal import KernelModel
internal import KernelNetwork
internal import SystemdIO
internal import TunnelProviders

/// The kernel's WireGuard and our own engine: which of them makes devices, and what the devices of both show.
final class WireGuardEngines {
  let userspace: UserspaceWireGuard
  private let kernel: WireGuardKernel

  init(on loop: EventLoop) throws(NetlinkError) {
    userspace = UserspaceWireGuard(on: loop)
    kernel = try WireGuardKernel()
  }

  /// The kernel's own WireGuard, else our engine. To be certain, it creates a link and removes it.
  private(set) lazy var choice = choice(isKernels: kernel.isSupported())

  /// The same for a dry run: no link is created.
  var likelyChoice: EngineChoice { choice(isKernels: kernel.isLikely()) }

  private lazy var isOwnLikely = likelyChoice == .engine(.userspace)

  /// Keeps a process of our engine ready for the next link, or ends it. Where the kernel has WireGuard, there is nothing to keep.
  func keepReady(_ isWanted: Bool) { userspace.keepReady(isWanted && isOwnLikely && choice == .engine(.userspace)) }

  private func choice(isKernels: Bool) -> EngineChoice {
    if isKernels { return .engine(.kernel) }
    if UserspaceWireGuard.isInstalled { return .engine(.userspace) }
    return .none(reason: "this kernel has no WireGuard, and roamward-wireguard is neither in the folder of roamwardd nor in its PATH")
  }

  /// The present device of a link, by the kind of the link in this state; `nil`: there is none, or it does not answer.
  func state(of link: String, in state: KernelState) -> WireGuardState? {
    guard let found = state.link(named: link) else { return nil }
    return found.kind == "wireguard" ? (try? kernel.read(link)) ?? nil : (try? userspace.read(link)) ?? nil
  }
}
