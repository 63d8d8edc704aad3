import KernelModel
import NetworkTypes

extension DesiredLink.Device {
  /// The device of a tunnel of an installed provider, as its manifest needs it.
  package init(of provider: ProviderProgram, link: String) {
    self =
      provider.needs.contains(.xfrm)
      ? .xfrm(identifier: Ownership.xfrmIdentifier(ofLink: link)) : .tun(user: provider.user(ofLink: link))
  }
}

extension ProviderProgram {
  /// The user, or its number, as which the program of the tunnel with this link runs. A user whom many programs share stands for a user for
  /// each tunnel: no program can read the memory or the files of another tunnel's. It follows from the link's name, so that the agent after
  /// a crash has the same.
  package func user(ofLink link: String) -> String {
    guard Ownership.sharedUsers.contains(user) else { return user }
    return String(Ownership.providerUsers.lowerBound | UInt32(truncatingIfNeeded: FNV1a(link).value) & 0xff_ffff)
  }
}

extension Ownership {
  /// The identifier of an XFRM interface of ours. It follows from the name, so that the agent after a crash has the same. The kernel
  /// refuses a second interface with it.
  package static func xfrmIdentifier(ofLink name: String) -> UInt32 { mark | UInt32(truncatingIfNeeded: FNV1a(name).value) & ~markMask }
}
