import KernelModel
import NetworkTypes

/// Tunnels whose programs send packets without a mark, because this machine cannot mark their sockets.
extension TunnelSetup {
  /// The reason why the tunnel may not start: its kill switch would block its own packets.
  func markRefusal(on underlay: UnderlayFit) -> String? {
    guard policy.provider.opensOwnSockets, case .unavailable(let reason) = underlay.providers else { return nil }
    if let through = policy.through {
      return "its own programs would not go through \(through.name): their sockets cannot be marked here: \(reason)"
    }
    guard policy.guarding != .off else { return nil }
    return "its kill switch would block its own programs, whose sockets cannot be marked here: \(reason)"
  }

  /// A remark on a tunnel that takes everything: also the packets that carry it.
  func markRemark(on underlay: UnderlayFit) -> Remark? {
    guard policy.provider.opensOwnSockets, includedPrefixes.coverEverything,
      case .unavailable(let reason) = underlay.providers
    else { return nil }
    let mark = "0x\(String(Ownership.mark, radix: 16)) (openvpn: --mark \(Ownership.mark))"
    return Remark(
      .markUnavailable, of: policy.name,
      "the packets of its own programs go into it, unless they set the mark \(mark) themselves: their sockets cannot be marked here: \(reason)"
    )
  }
}
