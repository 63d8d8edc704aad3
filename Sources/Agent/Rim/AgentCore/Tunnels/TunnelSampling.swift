internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// The samples of a tunnel: whether the peer answers, and since when it has carried no data.
struct TunnelSampling {
  /// Present while it is connected and its device shows whether the peer answers.
  private var liveness: TunnelLiveness?
  /// The time without data while it is connected and ends its session when idle.
  private var idle: IdleMeter?
  /// The same of a tunnel without a WireGuard device.
  private var linkIdle: LinkIdleMeter?

  var nextSample: Moment? { liveness?.nextSample }

  var measuresDevice: Bool { idle != nil }
  var measuresLink: Bool { linkIdle != nil }

  /// Another state begins with another judgement of the peer.
  mutating func stateChanged() { liveness = nil }

  /// It does not end when idle any more.
  mutating func endMeasuring() { (idle, linkIdle) = (nil, nil) }

  /// When the session of a tunnel ends that may be idle for `limit`, unless data flows before; `nil`: it is not measured.
  func idleEnd(_ limit: Duration) -> Moment? { (idle?.activeAt ?? linkIdle?.activeAt).map { $0 + limit } }

  /// Takes the count of the link's packets. Returns whether the tunnel is idle.
  mutating func isIdle(packets: UInt64, limit: Duration, at now: Moment) -> Bool {
    linkIdle?.take(packets, at: now)
    return idleEnd(limit).map { $0 <= now } ?? false
  }

  /// Takes a sample of the device. Returns the event if the tunnel is idle, or, `isConnected`, if its peer is to be doubted.
  mutating func take(_ device: WireGuardState, isConnected: Bool, limit: Duration, at now: Moment) -> TunnelMachine.Event? {
    idle?.take(device, at: now)
    if let end = idleEnd(limit), end <= now { return .idle }
    return isConnected ? liveness?.take(device, at: now).map { .peerSilent(for: $0) } : nil
  }

  mutating func begin(packets: UInt64, at now: Moment) { linkIdle = LinkIdleMeter(packets, at: now) }

  /// Whether samples of the device have to begin, for either purpose.
  func isToBegin(endsWhenIdle: Bool) -> Bool { liveness == nil || endsWhenIdle && idle == nil }

  mutating func begin(_ device: WireGuardState, endsWhenIdle: Bool, at now: Moment) {
    if liveness == nil {
      var liveness = TunnelLiveness()
      _ = liveness.take(device, at: now)
      self.liveness = liveness
    }
    if endsWhenIdle, idle == nil { idle = IdleMeter(device, at: now) }
  }
}
