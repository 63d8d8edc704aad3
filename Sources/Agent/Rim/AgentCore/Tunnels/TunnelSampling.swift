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

  /// The last moment with data; `nil`: it is not measured.
  var activeAt: Moment? { idle?.activeAt ?? linkIdle?.activeAt }

  var measuresDevice: Bool { idle != nil }
  var measuresLink: Bool { linkIdle != nil }

  /// Another state begins with another judgement of the peer.
  mutating func stateChanged() { liveness = nil }

  /// It does not end when idle any more.
  mutating func endMeasuring() { (idle, linkIdle) = (nil, nil) }

  mutating func take(packets: UInt64, at now: Moment) { linkIdle?.take(packets, at: now) }

  mutating func measure(_ device: WireGuardState, at now: Moment) { idle?.take(device, at: now) }

  /// Returns how long the peer has been silent, if that is to be doubted.
  mutating func judge(_ device: WireGuardState, at now: Moment) -> Duration? { liveness?.take(device, at: now) }

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
