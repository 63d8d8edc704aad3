internal import KernelModel
internal import NetworkTypes
internal import PeerDetection
internal import RoamwardCore

/// The samples of a tunnel: whether the peer answers, and since when it has carried no data.
struct TunnelSampling {
  /// The sources of samples.
  struct Counters {
    /// The packets that the link has carried; `nil`: it is a WireGuard device, or there is no link.
    let packets: () -> UInt64?
    let device: () -> WireGuardState?
  }

  /// The watch for the first packet after a time without one: until then samples are rare.
  private enum QuietWatch {
    case none
    case watching(Cancellation)
    /// A packet came: a sample is due.
    case packetCame(at: Moment)
    /// The device need not have counted that packet at the sample that it caused: the next one shows whether it is answered.
    case following
  }

  /// Present while it is connected and its device shows whether the peer answers.
  private var liveness: TunnelLiveness?
  private var quiet = QuietWatch.none
  /// The first and the last sample that the device has not answered, unless it has since: its engine hangs.
  private var missed: (first: Moment, last: Moment)?
  /// For how long an engine may hang, as on a machine that swaps.
  private static let patienceWithEngine = DeadPeerDetector.interval * 2
  /// The time without data while it is connected and ends its session when idle.
  private var idle: IdleMeter?
  /// The same of a tunnel without a WireGuard device.
  private var linkIdle: LinkIdleMeter?

  var nextSample: Moment? {
    if let missed { return missed.last + DeadPeerDetector.interval }
    return switch quiet {
    case .watching: liveness?.nextQuietSample ?? liveness?.nextSample
    case .packetCame(let at): at
    case .none, .following: liveness?.nextSample
    }
  }

  /// Another state begins with another judgement of the peer.
  mutating func stateChanged() { (liveness, quiet, missed) = (nil, .none, nil) }

  /// Begins to watch for the next packet into the link if nothing was sent for some time. Where packets cannot be noticed, samples stay
  /// frequent.
  mutating func watchQuiet(_ link: String, _ platform: Platform, _ came: @escaping () -> Void) {
    guard case .none = quiet, liveness?.nextQuietSample != nil, let watch = platform.machine.watchPackets(link, .all, came) else { return }
    quiet = .watching(watch)
  }

  mutating func packetCame(at now: Moment) { if case .watching = quiet { quiet = .packetCame(at: now) } }

  /// It does not end when idle any more.
  mutating func endMeasuring() { (idle, linkIdle) = (nil, nil) }

  /// When the session of a tunnel ends that may be idle for `limit`, unless data flows before; `nil`: it is not measured.
  func idleEnd(_ limit: Duration) -> Moment? { (idle?.activeAt ?? linkIdle?.activeAt).map { $0 + limit } }

  /// Takes a sample. Returns the event if the tunnel is idle, or, `isConnected`, if its peer is to be doubted, or its engine hangs.
  mutating func take(_ counters: Counters, isConnected: Bool, limit: Duration, at now: Moment) -> TunnelMachine.Event? {
    if linkIdle != nil, let packets = counters.packets() { linkIdle?.take(packets, at: now) }
    let device = isConnected || idle != nil ? counters.device() : nil
    if let device { idle?.take(device, at: now) }
    if let end = idleEnd(limit), end <= now { return .idle }
    guard isConnected, liveness != nil else { return nil }
    guard let device else { return miss(at: now) }
    missed = nil
    let isWithoutData = endQuiet()
    let silence = liveness?.take(device, isWithoutData: isWithoutData, at: now)
    if case .watching = quiet, liveness?.nextQuietSample == nil { quiet = .none }
    return silence.map { .peerSilent(for: $0) }
  }

  private mutating func miss(at now: Moment) -> TunnelMachine.Event? {
    let first = missed?.first ?? now
    missed = (first, now)
    return first + Self.patienceWithEngine <= now ? .failed(TunnelFailure(.engineFailed, "the engine does not answer")) : nil
  }

  /// A sample is taken. Returns whether it is known that no packet has come since the last one.
  private mutating func endQuiet() -> Bool {
    switch quiet {
    case .watching: return true
    case .packetCame: quiet = .following
    case .following: quiet = .none
    case .none: break
    }
    return false
  }

  /// Begins what has not begun yet, as far as there is something to count.
  mutating func begin(_ counters: Counters, endsWhenIdle: Bool, at now: Moment) {
    if endsWhenIdle, linkIdle == nil { linkIdle = counters.packets().map { LinkIdleMeter($0, at: now) } }
    guard liveness == nil || endsWhenIdle && idle == nil, let device = counters.device() else { return }
    if liveness == nil {
      var liveness = TunnelLiveness()
      _ = liveness.take(device, at: now)
      self.liveness = liveness
    }
    if endsWhenIdle, idle == nil { idle = IdleMeter(device, at: now) }
  }
}
