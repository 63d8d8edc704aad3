package import NetworkTypes

/// The state machine of one tunnel, without a clock or a socket: it takes events, and returns effects and the next deadline.
///
/// The states are those of Apple's `NEVPNStatus`. `level` is the machine's desired state in the kernel; the agent applies it.
package struct TunnelMachine: Equatable, Sendable {
  package private(set) var state = State.disconnected
  package private(set) var target = Target.down
  /// The reason why the last attempt failed; cleared by success.
  package private(set) var failure: TunnelFailure?
  /// The reason to doubt that a tunnel on the same network is still connected; `nil` outside of `reasserting`.
  package private(set) var doubt: Doubt?
  /// Whether the network was lost during the attempt: earlier answers do not count then.
  private var isOffline = false
  /// Whether what goes down is a device that was only ready: for people the tunnel was down all along.
  private(set) var endsDeviceAlone = false
  private let timing: Timing
  /// When the device was last lost; `losses` counts the losses in a row.
  private var lostAt: Moment?
  private var losses = 0

  package init(timing: Timing = Timing()) { self.timing = timing }

  package mutating func handle(_ event: Event, at now: Moment) -> [Effect] {
    let effects = move(event, at: now)
    if case .reasserting = state {} else { doubt = nil }
    return effects
  }

  /// Takes over a tunnel that another agent has left connected: the peer has to answer again; routes and DNS stay meanwhile.
  package mutating func takeOver(hasNetwork: Bool, at now: Moment) -> [Effect] {
    guard state == .disconnected else { return [] }
    target = .up
    if hasNetwork { return reassert(reason: .agentRestarted, at: now) }
    state = .reasserting(deadline: nil)
    return []
  }

  private mutating func move(_ event: Event, at now: Moment) -> [Effect] {
    switch (state, event) {
    case (_, .want(let target)): return want(target, at: now)
    case (.arming, _), (.armed, _), (.called, _): return moveArmed(event, at: now)
    case (.withdrawing, _), (.readying, _), (.ready, _): return moveReady(event, at: now)
    case (.connected, .idle) where target == .armed, (.reasserting, .idle) where target == .armed: return rearm()
    case (.connected, .deviceGone) where target == .armed: return armAgain(at: now)
    case (.connected, .failed(let reason)) where target == .armed && reason.isOfNetwork,
      (.reasserting, .failed(let reason)) where target == .armed && reason.isOfNetwork:
      return rearm(after: reason)
    case (.preparing(let attempt, let deadline), .prepared) where target == .armed:
      state = .arming(attempt: attempt, deadline: deadline, hasLink: false)
      return []
    case (.preparing(let attempt, let deadline), .prepared) where target == .ready:
      state = .readying(attempt: attempt, deadline: deadline)
      return []
    case (.preparing(let attempt, let deadline), .prepared):
      state = .awaitingPeer(attempt: attempt, deadline: deadline)
      return [.probePeer]
    case (.awaitingPeer(let attempt, let deadline), .peerAnswered) where !isOffline:
      state = .applying(attempt: attempt, deadline: deadline)
      return []
    case (.applying, .applied):
      state = .connected
      failure = nil
      return []
    case (.reasserting, .peerAnswered):
      state = .connected
      failure = nil
      return []
    case (.connected, .underlayChanged), (.reasserting, .underlayChanged):
      doubt = nil
      state = .reasserting(deadline: now + timing.reassert)
      return [.reassert]
    case (.connected, .underlayLost), (.reasserting, .underlayLost):
      doubt = nil
      state = .reasserting(deadline: nil)
      return []
    case (.connected, .slept), (.reasserting(.some), .slept): return reassert(reason: .slept, at: now)
    case (.connected, .reasserting(let reason)):
      doubt = .providerReasserting(reason)
      state = .reasserting(deadline: now + timing.reassert)
      return []
    case (.reasserting, .reasserting(let reason)):
      if case .providerReasserting = doubt { doubt = .providerReasserting(reason) }
      return []
    case (.connected, .peerSilent(let time)): return reassert(reason: .peerSilent(for: time), at: now)
    case (.awaitingPeer(let attempt, _), .underlayChanged), (.applying(let attempt, _), .underlayChanged):
      // The endpoint was resolved on another network.
      return awaitPeer(attempt, at: now, [.reassert])
    case (.awaitingPeer(let attempt, _), .slept) where !isOffline, (.applying(let attempt, _), .slept):
      return awaitPeer(attempt, at: now, [.renewSessions])
    case (.awaitingPeer(let attempt, _), .underlayLost), (.applying(let attempt, _), .underlayLost):
      defer { isOffline = true }
      return awaitPeer(attempt, at: now, [])
    case (.connected, .deviceGone): return loseDevice(at: now)
    case (.reasserting, .deviceGone): return backOff(after: max(1, losses), reason: Self.loss, at: now)
    case (.applying(let attempt, let deadline), .deviceGone):
      state = .awaitingPeer(attempt: attempt, deadline: deadline)
      return [.probePeer]
    case (.preparing, .underlayChanged): return [.tearDown] + start(attempt: 1, at: now)
    case (.backingOff, .settingsChanged), (.backingOff, .retry):
      failure = nil
      return start(attempt: 1, at: now)
    case (.preparing, .settingsChanged), (.awaitingPeer, .settingsChanged), (.applying, .settingsChanged):
      failure = nil
      return []
    case (.backingOff(_, .some), .underlayChanged): return start(attempt: 1, at: now)
    case (.preparing(let attempt, _), .failed(let reason)), (.awaitingPeer(let attempt, _), .failed(let reason)),
      (.applying(let attempt, _), .failed(let reason)):
      return backOff(after: attempt, reason: reason, at: now)
    case (.connected, .failed(let reason)), (.reasserting, .failed(let reason)): return backOff(after: 1, reason: reason, at: now)
    case (.disconnecting, .removed):
      state = .disconnected
      return target == .down ? [] : start(attempt: 1, at: now)
    case (_, .asks(let until)):
      extend(until ?? now)
      return []
    case (_, .tick): return tick(at: now)
    default: return []
    }
  }

  /// The time limit of what waits for the peer counts from the moment at which nobody is asked any more.
  private mutating func extend(_ end: Moment) {
    switch state {
    case .preparing(let attempt, _): state = .preparing(attempt: attempt, deadline: end + timing.connect)
    case .awaitingPeer(let attempt, _): state = .awaitingPeer(attempt: attempt, deadline: end + timing.connect)
    case .reasserting(.some): state = .reasserting(deadline: end + timing.reassert)
    default: break
    }
  }

  private mutating func want(_ target: Target, at now: Moment) -> [Effect] {
    guard target != self.target else { return [] }
    if target == .down { endsDeviceAlone = self.target == .ready && level <= .device }
    self.target = target
    switch state {
    case .disconnected where target != .down: return start(attempt: 1, at: now)
    // A tunnel that is still going down starts once it is down.
    case .disconnected, .disconnecting: return []
    case .backingOff where target == .down:
      state = .disconnecting
      return [.tearDown]
    case _ where target == .down:
      failure = nil
      state = .disconnecting
      return [.tearDown]
    // The reason why a session failed stays for people.
    case .preparing where target == .ready, .backingOff where target == .ready: return [.tearDown] + start(attempt: 1, at: now)
    case .readying, .ready, .withdrawing: return wantMore(at: now)
    case _ where target == .ready: return withdraw(at: now)
    case .arming(_, _, hasLink: false):
      guard target == .up else { return rearm() }
      return awaitPeer(1, at: now, [.renewSessions])
    // Wanted up, an armed tunnel keeps its routes while it connects.
    case .arming, .armed, .called:
      if target == .up { return call(at: now, [.renewSessions]) }
      return rearm()
    case .awaitingPeer where target == .armed, .applying where target == .armed:
      state = .arming(attempt: 1, deadline: now + timing.connect, hasLink: level.hasRoutes)
      return [.rearm]
    // An attempt for another target is over.
    case .preparing, .backingOff:
      failure = nil
      return [.tearDown] + start(attempt: 1, at: now)
    default: return []
    }
  }

  // MARK: Ready

  /// From the device alone, or on the way there, to an armed tunnel or to one that is up.
  private mutating func wantMore(at now: Moment) -> [Effect] {
    failure = nil
    if target == .armed {
      state = .arming(attempt: 1, deadline: now + timing.connect, hasLink: false)
      return [.rearm]
    }
    if case .withdrawing = state { return awaitPeer(1, at: now, [.renewSessions]) }
    return awaitPeer(1, at: now, [.open])
  }

  /// Goes down as far as the device: first everything that leads into it, then its sessions and addresses.
  private mutating func withdraw(at now: Moment) -> [Effect] {
    if !level.hasRoutes { return makeReady(1, at: now) }
    state = .withdrawing(deadline: now + timing.connect)
    return []
  }

  private mutating func makeReady(_ attempt: Int, at now: Moment) -> [Effect] {
    isOffline = false
    state = .readying(attempt: attempt, deadline: now + timing.connect)
    return [.rearm]
  }

  private mutating func moveReady(_ event: Event, at now: Moment) -> [Effect] {
    switch (state, event) {
    case (.withdrawing, .applied): return makeReady(1, at: now)
    case (.readying, .applied):
      state = .ready
      if failure?.isOfSession == false { failure = nil }
      return []
    case (.readying, .underlayChanged), (.ready, .underlayChanged): return [.rearm]
    case (.withdrawing, .deviceGone), (.ready, .deviceGone):
      if isLostAgain(at: now) { return backOff(after: losses, reason: Self.loss, at: now) }
      failure = Self.loss
      return makeReady(1, at: now)
    case (.readying(let attempt, _), .failed(let reason)): return backOff(after: attempt, reason: reason, at: now)
    case (_, .failed(let reason)): return backOff(after: 1, reason: reason, at: now)
    case (_, .tick): return tick(at: now)
    default: return []
    }
  }

  // MARK: Armed

  private mutating func moveArmed(_ event: Event, at now: Moment) -> [Effect] {
    switch (state, event) {
    case (.arming(let attempt, let deadline, hasLink: false), .applied):
      state = .arming(attempt: attempt, deadline: deadline, hasLink: true)
      return []
    case (.arming, .applied):
      state = .armed
      failure = nil
      return []
    case (.arming(let attempt, _, let hasLink), .underlayChanged):
      state = .arming(attempt: attempt, deadline: now + timing.connect, hasLink: hasLink)
      return [.rearm]
    case (.arming, .settingsChanged):
      failure = nil
      return []
    case (.armed, .called):
      isOffline = false
      state = .called(deadline: now + timing.connect)
      return []
    case (.called, .peerAnswered) where !isOffline:
      state = .applying(attempt: 1, deadline: now + timing.connect)
      return []
    case (.armed, .underlayChanged):
      failure = nil
      return [.rearm]
    // Armed, it asks no network whether the peer is there: the next packet does.
    case (.called, .underlayChanged), (.called, .slept): return target == .up ? call(at: now, [.reassert]) : rearm()
    case (.called, .underlayLost):
      if target == .armed { return rearm() }
      isOffline = true
      return []
    case (_, .deviceGone): return armAgain(at: now)
    case (.called, .failed(let reason)) where target == .armed && reason.isOfNetwork: return rearm(after: reason)
    case (.arming(let attempt, _, _), .failed(let reason)): return backOff(after: attempt, reason: reason, at: now)
    case (_, .failed(let reason)): return backOff(after: 1, reason: reason, at: now)
    case (_, .tick): return tick(at: now)
    default: return []
    }
  }

  /// Wipes the sessions; the next packet begins one.
  private mutating func rearm(after reason: TunnelFailure? = nil) -> [Effect] {
    failure = reason
    isOffline = false
    state = .armed
    return [.rearm]
  }

  private mutating func call(at now: Moment, _ effects: [Effect]) -> [Effect] {
    isOffline = false
    state = .called(deadline: now + timing.connect)
    return effects
  }

  /// Handles the loss of the device of a tunnel that is to be armed: it is created again. A second loss within a minute waits.
  private mutating func armAgain(at now: Moment) -> [Effect] {
    if case .arming = state { return [] }
    if isLostAgain(at: now) { return backOff(after: losses, reason: Self.loss, at: now) }
    failure = Self.loss
    if target == .up {
      state = .awaitingPeer(attempt: 1, deadline: now + timing.connect)
      return [.probePeer]
    }
    state = .arming(attempt: 1, deadline: now + timing.connect, hasLink: false)
    return [.rearm]
  }

  private mutating func tick(at now: Moment) -> [Effect] {
    guard let deadline = nextDeadline, deadline <= now else { return [] }
    switch state {
    case .preparing(let attempt, _):
      return backOff(
        after: attempt, reason: .init(.startTimeout, "the provider did not start within \(text(for: timing.connect))"), at: now)
    case .arming(let attempt, _, _), .readying(let attempt, _): return backOff(after: attempt, reason: applyTimeout, at: now)
    case .withdrawing: return backOff(after: 1, reason: applyTimeout, at: now)
    case .called where target == .armed:
      return rearm(
        after: .init(.peerTimeout, "a packet asked for it, and the peer did not answer within \(text(for: timing.connect)); armed again"))
    case .called:
      let reason: TunnelFailure =
        isOffline
        ? .init(.noNetwork, "there is no network") : .init(.peerTimeout, "the peer did not answer within \(text(for: timing.connect))")
      return backOff(after: 1, reason: reason, at: now)
    case .awaitingPeer(let attempt, _) where isOffline:
      return backOff(after: attempt, reason: .init(.noNetwork, "there is no network"), at: now)
    case .awaitingPeer(let attempt, _):
      return backOff(after: attempt, reason: .init(.peerTimeout, "the peer did not answer within \(text(for: timing.connect))"), at: now)
    case .applying(let attempt, _): return backOff(after: attempt, reason: applyTimeout, at: now)
    case .reasserting:
      let reason =
        doubt?.failure(after: timing.silence) ?? "the peer has not answered on this network within \(text(for: timing.reassert))"
      if target == .armed { return rearm(after: .init(.peerTimeout, reason + "; armed again")) }
      return backOff(after: 1, reason: .init(.peerTimeout, reason), at: now)
    case .backingOff(let attempt, _): return start(attempt: attempt + 1, at: now)
    case .disconnected, .ready, .armed, .connected, .disconnecting: return []
    }
  }

  private var applyTimeout: TunnelFailure {
    TunnelFailure(.applyTimeout, "the settings could not be applied within \(text(for: timing.connect))")
  }

  private mutating func reassert(reason: Doubt, at now: Moment) -> [Effect] {
    doubt = reason
    state = .reasserting(deadline: now + timing.silence)
    return [.renewSessions]
  }

  /// Waits for the peer to answer (once more), with the full time limit of an attempt.
  private mutating func awaitPeer(_ attempt: Int, at now: Moment, _ effects: [Effect]) -> [Effect] {
    isOffline = false
    state = .awaitingPeer(attempt: attempt, deadline: now + timing.connect)
    return effects
  }

  private static let loss = TunnelFailure(.linkGone, "its link is gone: its engine has ended, or another program removed the link")

  /// Restarts at once, and waits for the peer to answer again; a second loss within a minute restarts after a delay, which grows.
  private mutating func loseDevice(at now: Moment) -> [Effect] {
    if isLostAgain(at: now) { return backOff(after: losses, reason: Self.loss, at: now) }
    failure = Self.loss
    state = .reasserting(deadline: now + timing.reassert)
    return [.probePeer]
  }

  /// Counts a loss of the device; returns whether it is the second one within a minute.
  private mutating func isLostAgain(at now: Moment) -> Bool {
    let isAgain = lostAt.map { now < $0 + .seconds(60) } ?? false
    losses = isAgain ? losses + 1 : 0
    lostAt = now
    return isAgain
  }

  private mutating func start(attempt: Int, at now: Moment) -> [Effect] {
    isOffline = false
    state = .preparing(attempt: attempt, deadline: now + timing.connect)
    return [target == .up ? .prepare : .arm]
  }

  /// Doubles the delay from attempt to attempt. No jitter: a laptop is one client, and tests need exact times.
  private mutating func backOff(after attempt: Int, reason: TunnelFailure, at now: Moment) -> [Effect] {
    failure = reason
    let delay = Backoff(first: timing.firstRetry, longest: timing.longestRetry).pause(after: attempt)
    switch reason.retry {
    case .backoff: state = .backingOff(attempt: attempt, until: now + delay)
    case .notBefore(let time): state = .backingOff(attempt: attempt, until: now + max(delay, time))
    case .onRequest: state = .backingOff(attempt: attempt, until: nil)
    }
    return [.tearDown]
  }
}
