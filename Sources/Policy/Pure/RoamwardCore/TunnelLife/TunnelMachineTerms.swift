package import NetworkTypes

// The values that a tunnel's machine takes and returns: states, events, effects, levels, wishes and time limits.
extension TunnelMachine {
  package enum State: Equatable, Sendable {
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
    /// The provider runs; the link is being applied, and once it is there (`hasLink`) routes, rules and DNS, without a session.
    case arming(attempt: Int, deadline: Moment, hasLink: Bool)
    /// Everything is applied, and there is no session: nothing is sent before a program sends a packet into the tunnel.
    case armed
    /// Routes, rules and DNS are being removed from a tunnel of which only the device is to stay.
    case withdrawing(deadline: Moment)
    /// The provider runs; the device is being made, or its peers and addresses are being taken from it.
    case readying(attempt: Int, deadline: Moment)
    /// Only the device is there, up, without a peer and without an address: it can send nothing and receive nothing.
    case ready
    /// The tunnel was armed, and a session is wanted: a program has sent a packet, or rules or a person want it up. The peer has not
    /// answered yet. Routes and DNS stay.
    case called(deadline: Moment)
    /// The tunnel was connected and may not be any more: another underlay, a sleep, or a silent peer. The peer has not answered since.
    /// Without a network there is no deadline: it waits for one.
    case reasserting(deadline: Moment?)
    /// The attempt failed; the next one is at `until`. `nil`: when a person or another policy asks for it.
    case backingOff(attempt: Int, until: Moment?)
    /// The tunnel is going down.
    case disconnecting
  }

  package enum Event: Hashable, Sendable {
    /// The rules or the operator want the tunnel up, armed, ready or down.
    case want(Target)
    /// The provider has started.
    case prepared
    /// The peer has answered.
    case peerAnswered
    /// The device of an armed tunnel has sent something, or has a session: a program has sent a packet, or the peer began a session.
    case called
    /// No data was sent or received for the tunnel's idle time.
    case idle
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
    /// The provider carries no packets for now, and works on it: why.
    case reasserting(String)
    /// The provider asks a person, who has time for an answer until then; `nil`: no question is open any more.
    case asks(until: Moment?)
    /// A person asks for another attempt now.
    case retry
    /// The tunnel's device is gone from the kernel, or replaced: its engine died, or another program removed it.
    case deviceGone
    /// The tunnel is gone from the kernel, and its provider has ended.
    case removed
    /// The policy's tunnel settings have changed: an attempt that failed before may succeed now.
    case settingsChanged
    /// A deadline may have passed.
    case tick
  }

  package enum Effect: Equatable, Sendable {
    /// Start the provider: resolve names, run `up`.
    case prepare
    /// Start the provider without a session, and without waiting for names.
    case arm
    /// Discard all sessions and begin none; resolve names again on another network.
    case rearm
    /// Give the device its peers, and make them answer: with the known endpoints, while names are resolved again.
    case open
    /// Make the peer answer: resolve names again on another network, and send a packet.
    case probePeer
    /// Make the peer of a connected tunnel answer: earlier answers prove nothing, so start new sessions.
    case reassert
    /// Start new sessions with the known endpoints, and resolve names again meanwhile.
    case renewSessions
    /// Stop the provider: run `down`.
    case tearDown
  }

  /// The part of the tunnel that should be in the kernel.
  package enum Level: Int, Equatable, Sendable, Comparable {
    /// Nothing of the tunnel.
    case nothing
    /// The link alone, up, without peers and without addresses; no route leads into it.
    case device
    /// The link, configured and up, with addresses; no route leads into it.
    case link
    /// The link with routes, rules and split DNS, and without a session.
    case armed
    /// The link with routes, rules and DNS.
    case full

    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

    /// Whether routes and rules lead into the tunnel.
    package var hasRoutes: Bool { self >= .armed }
  }

  /// The state that the machine works towards, for rules or a person.
  package enum Target: Equatable, Sendable {
    case down
    /// Its device made in advance, for a look-up that may start it; the tunnel itself is down.
    case ready
    /// In place without a session, until a program sends a packet; and again after the idle time.
    case armed
    case up
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
}

extension TunnelMachine.State {
  /// Whether the peer is being probed and has not answered yet.
  package var isAwaitingAnswer: Bool {
    switch self {
    case .awaitingPeer, .called, .reasserting(.some): true
    default: false
    }
  }

  /// All words of `status`.
  package static let statuses = ["disconnected", "connecting", "armed", "connected", "reasserting", "disconnecting"]

  /// The word for people and for JSON, in the terms of `NEVPNStatus`; `armed` is ours.
  package var status: String {
    switch self {
    case .disconnected, .readying, .ready: "disconnected"
    case .preparing, .awaitingPeer, .applying, .arming, .called, .backingOff: "connecting"
    case .armed: "armed"
    case .connected: "connected"
    case .reasserting: "reasserting"
    case .withdrawing, .disconnecting: "disconnecting"
    }
  }
}
