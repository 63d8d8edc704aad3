import KernelModel
import NetworkTypes

extension DesiredLink.Device {
  /// The device of a tunnel of an installed provider, as its manifest needs it.
  package init(of provider: ProviderProgram, link: String) {
    self = provider.needs.contains(.xfrm) ? .xfrm(identifier: Ownership.xfrmIdentifier(ofLink: link)) : .tun(user: provider.user)
  }
}

extension Ownership {
  /// The identifier of an XFRM interface of ours. It follows from the name, so that the agent after a crash has the same. The kernel
  /// refuses a second interface with it.
  package static func xfrmIdentifier(ofLink name: String) -> UInt32 { mark | UInt32(truncatingIfNeeded: FNV1a(name).value) & ~markMask }
}
