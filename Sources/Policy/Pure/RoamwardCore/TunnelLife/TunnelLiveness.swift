package import KernelModel
package import NetworkTypes
import PeerDetection

/// Whether a WireGuard tunnel still has a peer that answers, from samples of its device.
///
/// One silent peer of several is no reason to doubt the tunnel while another one answers. A peer that has not answered since sessions began
/// is ignored: another one connected the tunnel.
package struct TunnelLiveness: Equatable, Sendable {
  private var peers: [WireGuardKey: DeadPeerDetector] = [:]
  private var sampledAt: Moment?

  package init() {}

  /// The next moment at which a sample is wanted; `nil`: `take` has not been called yet.
  package var nextSample: Moment? {
    let wanted = peers.values.compactMap(\.nextSample).min()
    return wanted ?? sampledAt.map { $0 + DeadPeerDetector.idleInterval }
  }

  /// The next moment while the next packet into the link will be noticed; `nil`: samples have to be as frequent as without that.
  package var nextQuietSample: Moment? {
    let wanted = peers.values.map(\.nextQuietSample)
    return wanted.contains(nil) ? nil : wanted.compactMap { $0 }.min()
  }

  /// Takes a sample. `isWithoutData`: no packet has passed the link since the last one. Returns for how long nothing has been received if
  /// the tunnel is to be doubted now; `nil`: it is not.
  package mutating func take(_ device: WireGuardState, isWithoutData: Bool = false, at now: Moment) -> Duration? {
    sampledAt = now
    var newlySilent: [WireGuardKey] = []
    var judged: [WireGuardKey: DeadPeerDetector] = [:]
    for peer in device.peers where peer.lastHandshake != 0 {
      var detector = peers[peer.publicKey] ?? DeadPeerDetector()
      let wasSilent = detector.isSilent
      detector.take(
        DeadPeerDetector.Sample(
          at: now, lastHandshake: peer.lastHandshake, received: peer.receivedBytes, sent: peer.sentBytes,
          persistentKeepalive: peer.persistentKeepalive, isWithoutData: isWithoutData))
      if detector.isSilent, !wasSilent { newlySilent.append(peer.publicKey) }
      judged[peer.publicKey] = detector
    }
    peers = judged
    guard let since = newlySilent.compactMap({ judged[$0]?.unansweredSince }).min() else { return nil }
    let isAnotherHeard = judged.contains { key, detector in
      !newlySilent.contains(key) && detector.heardAt.map { since <= $0 } ?? false
    }
    return isAnotherHeard ? nil : now - since
  }
}
