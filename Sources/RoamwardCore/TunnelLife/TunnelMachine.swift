package import NetworkTypes

/// The state machine of one tunnel, without a clock or a socket: it takes events, and returns effects and the next deadline.
///
/// The states are those of Apple's `NEVPNStatus`. `level` is the machine's desired state in the kernel; the agent applies it.
package struct TunnelMachine: Hashable, Sendable {
  package enum State: Hashable, Sendable {
    /// The tunnel is down.
    case disconnected
    /// The provider is being started. `attempt` counts from 1.
    case preparing(attempt: Int, deadline: Moment)
    /// The provider runs; the peer has not answered yet.
    case awaitingPeer(attempt: Int, deadline: Moment)
    /// The peer has answered; routes and DNS are being applied.
    case applying(attempt: Int, deadline: Moment)
    /// The tunnel is up, and everything is applied.
    case connected
    /// The tunnel was connected and may not be any more: another underlay, a sleep, or a silent peer. The peer has not answered since.
    /// Without a network there is no deadline: it waits for one.
    case reasserting(deadline: Moment?)
    /// The attempt failed; the next one is at `until`.
    case backingOff(attempt: Int, until: Moment)
    /// The tunnel is going down.
    case disconnecting
  }

  package enum Event: Hashable, Sendable {
    /// The rules or the operator want the tunnel up (true) or down.
    case want(Bool)
    /// The provider has started.
    case prepared
    /// The peer has answered.
    case peerAnswered
    /// The kernel has everything that the level requires.
    case applied
    /// The attempt, or the connected tunnel, has failed.
    case failed(TunnelFailure)
    /// The underlay has changed to another network.
    case underlayChanged
    /// The underlay has no network.
    case underlayLost
    /// The machine has slept: the network is the same, but sessions may be dead.
    case slept
    /// Nothing was received from the peer for this long, though it was sent packets that require an answer (`DeadPeerDetector`).
    case peerSilent(for: Duration)
    /// The tunnel's device is gone from the kernel, or replaced: its engine died, or another program removed it.
    case deviceGone
    /// The tunnel is gone from the kernel, and its provider has ended.
    case removed
    /// The policy's tunnel settings have changed: an attempt that failed before may succeed now.
    case settingsChanged
    /// A deadline may have passed.
    case tick
  }

  package enum Effect: Hashable, Sendable {
    /// Start the provider: resolve names, run `up`.
    case prepare
    /// Make the peer answer: resolve names again on another network, and send a packet.
    case probePeer
    /// Make the peer of a connected tunnel answer: earlier answers prove nothing, so start new sessions.
    case reassert
    /// Start new sessions with the known endpoints, and resolve names again meanwhile.
    case renewSessions
    /// Stop the provider: run `down`.
    case release
  }

  /// The part of the tunnel that should be in the kernel.
  package enum Level: Int, Hashable, Sendable, Comparable {
    /// Nothing of the tunnel.
    case nothing
    /// The link, configured and up, with addresses; no route leads into it.
    case link
    /// The link with routes, rules and DNS.
    case full

    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  package struct Timing: Hashable, Sendable {
    /// The time limit of an attempt, from the start of the provider until everything is applied.
    package var connect: Duration
    /// The time without an answer on a new network after which the tunnel restarts.
    package var reassert: Duration
    /// The time without an answer on an unchanged network after which the tunnel restarts.
    package var silence: Duration
    package var firstRetry: Duration
    package var longestRetry: Duration

    package init(
      connect: Duration = .seconds(15), reassert: Duration = .seconds(15), silence: Duration = .seconds(34),
      firstRetry: Duration = .seconds(1), longestRetry: Duration = .seconds(60)
    ) {
      self.connect = connect
      self.reassert = reassert
      self.silence = silence
      self.firstRetry = firstRetry
      self.longestRetry = longestRetry
    }
  }

  package private(set) var state = State.disconnected
  package private(set) var isWanted = false
  /// The reason why the last attempt failed; cleared by success.
  package private(set) var failure: TunnelFailure?
  /// The reason to doubt that a tunnel on the same network is still connected; `nil` outside of `reasserting`.
  package private(set) var doubt: Doubt?
  /// Whether the network was lost during the attempt: earlier answers do not count then.
  private var isOffline = false
  private let timing: Timing
  /// When the device was last lost; `losses` counts the losses in a row.
  private var lostAt: Moment?
  private var losses = 0

  package init(timing: Timing = Timing()) { self.timing = timing }

  /// Whether the tunnel is in any state but down.
  package var isRunning: Bool { state != .disconnected }

  package var level: Level {
    switch state {
    case .disconnected, .preparing, .backingOff, .disconnecting: .nothing
    case .awaitingPeer: .link
    case .applying, .connected, .reasserting: .full
    }
  }

  /// When to send `tick`; `nil`: never.
  package var nextDeadline: Moment? {
    switch state {
    case .preparing(_, let deadline), .awaitingPeer(_, let deadline), .applying(_, let deadline): deadline
    case .reasserting(let deadline): deadline
    case .backingOff(_, let until): until
    case .disconnected, .connected, .disconnecting: nil
    }
  }

  package mutating func handle(_ event: Event, at now: Moment) -> [Effect] {
    let effects = move(event, at: now)
    if case .reasserting = state {} else { doubt = nil }
    return effects
  }

  /// The reason why a wanted tunnel is not connected; `nil`: there is none, or it is still connecting.
  package var trouble: ReasonCode? {
    switch state {
    case .reasserting(nil): .noNetwork
    case .reasserting: doubt?.code ?? failure?.code ?? .networkChanged
    case .backingOff: failure?.code
    case .preparing, .awaitingPeer, .applying, .connected, .disconnecting, .disconnected: nil
    }
  }

  private mutating func move(_ event: Event, at now: Moment) -> [Effect] {
    switch (state, event) {
    case (_, .want(let wanted)): return want(wanted, at: now)
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
    case (.preparing, .underlayChanged): return [.release] + start(attempt: 1, at: now)
    case (.backingOff, .settingsChanged):
      failure = nil
      return start(attempt: 1, at: now)
    case (.preparing, .settingsChanged), (.awaitingPeer, .settingsChanged), (.applying, .settingsChanged):
      failure = nil
      return []
    case (.backingOff, .underlayChanged): return start(attempt: 1, at: now)
    case (.preparing(let attempt, _), .failed(let reason)), (.awaitingPeer(let attempt, _), .failed(let reason)),
      (.applying(let attempt, _), .failed(let reason)):
      return backOff(after: attempt, reason: reason, at: now)
    case (.connected, .failed(let reason)), (.reasserting, .failed(let reason)): return backOff(after: 1, reason: reason, at: now)
    case (.disconnecting, .removed):
      state = .disconnected
      return isWanted ? start(attempt: 1, at: now) : []
    case (_, .tick): return tick(at: now)
    default: return []
    }
  }

  private mutating func want(_ wanted: Bool, at now: Moment) -> [Effect] {
    guard wanted != isWanted else { return [] }
    isWanted = wanted
    switch state {
    case .disconnected where wanted: return start(attempt: 1, at: now)
    // A tunnel that is still going down starts once it is down.
    case .disconnected, .disconnecting: return []
    case .backingOff where !wanted:
      state = .disconnecting
      return [.release]
    case _ where !wanted:
      failure = nil
      state = .disconnecting
      return [.release]
    default: return []
    }
  }

  private mutating func tick(at now: Moment) -> [Effect] {
    guard let deadline = nextDeadline, deadline <= now else { return [] }
    switch state {
    case .preparing(let attempt, _):
      return backOff(
        after: attempt, reason: .init(.startTimeout, "the provider did not start within \(text(for: timing.connect))"), at: now)
    case .awaitingPeer(let attempt, _) where isOffline:
      return backOff(after: attempt, reason: .init(.noNetwork, "there is no network"), at: now)
    case .awaitingPeer(let attempt, _):
      return backOff(after: attempt, reason: .init(.peerTimeout, "the peer did not answer within \(text(for: timing.connect))"), at: now)
    case .applying(let attempt, _):
      return backOff(
        after: attempt, reason: .init(.applyTimeout, "the settings could not be applied within \(text(for: timing.connect))"), at: now)
    case .reasserting:
      let reason =
        doubt?.failure(after: timing.silence) ?? "the peer has not answered on this network within \(text(for: timing.reassert))"
      return backOff(after: 1, reason: .init(.peerTimeout, reason), at: now)
    case .backingOff(let attempt, _): return start(attempt: attempt + 1, at: now)
    case .disconnected, .connected, .disconnecting: return []
    }
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
    let isAgain = lostAt.map { now < $0 + .seconds(60) } ?? false
    losses = isAgain ? losses + 1 : 0
    lostAt = now
    if isAgain { return backOff(after: losses, reason: Self.loss, at: now) }
    failure = Self.loss
    state = .reasserting(deadline: now + timing.reassert)
    return [.probePeer]
  }

  private mutating func start(attempt: Int, at now: Moment) -> [Effect] {
    isOffline = false
    state = .preparing(attempt: attempt, deadline: now + timing.connect)
    return [.prepare]
  }

  /// Doubles the delay from attempt to attempt. No jitter: a laptop is one client, and tests need exact times.
  private mutating func backOff(after attempt: Int, reason: TunnelFailure, at now: Moment) -> [Effect] {
    failure = reason
    let delay = Backoff(first: timing.firstRetry, longest: timing.longestRetry).pause(after: attempt)
    state = .backingOff(attempt: attempt, until: now + delay)
    return [.release]
  }
}

extension TunnelMachine {
  /// The reason to doubt that a tunnel is still connected though the network is the same.
  package enum Doubt: Hashable, Sendable, CustomStringConvertible {
    case slept
    /// Nothing was received for this long, though packets that require an answer were sent.
    case peerSilent(for: Duration)

    package var description: String {
      switch self {
      case .slept: "the machine has slept, and the peer has not answered since"
      case .peerSilent(let time): "the peer has not answered for \(text(for: time)), though data was sent to it"
      }
    }

    package var code: ReasonCode {
      switch self {
      case .slept: .slept
      case .peerSilent: .peerSilent
      }
    }

    /// The reason for giving up the tunnel after this time without an answered handshake.
    fileprivate func failure(after time: Duration) -> String {
      switch self {
      case .slept: "the peer has not answered within \(text(for: time)) since the machine woke"
      case .peerSilent(let before): "the peer stopped answering: nothing was received for \(text(for: before + time))"
      }
    }
  }
}

extension TunnelMachine.State {
  /// Whether the peer is being probed and has not answered yet.
  package var isAwaitingAnswer: Bool {
    switch self {
    case .awaitingPeer, .reasserting(.some): true
    default: false
    }
  }

  /// The word for people and for JSON, in the terms of `NEVPNStatus`.
  package var status: String {
    switch self {
    case .disconnected: "disconnected"
    case .preparing, .awaitingPeer, .applying, .backingOff: "connecting"
    case .connected: "connected"
    case .reasserting: "reasserting"
    case .disconnecting: "disconnecting"
    }
  }
}
