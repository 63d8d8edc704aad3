package import NetworkTypes

/// The meaning of the machine's state: for the kernel, for the agent, for people.
extension TunnelMachine {
  /// Whether the tunnel is wanted up or armed.
  package var isWanted: Bool { target == .armed || target == .up }

  /// Whether the device must send nothing by itself.
  package var isSilent: Bool {
    switch state {
    case .arming, .armed, .readying, .ready: true
    case .called: target == .armed
    default: false
    }
  }

  /// Whether the tunnel has a session that ends after the idle time.
  package var endsWhenIdle: Bool {
    switch state {
    case .connected, .reasserting: target == .armed
    default: false
    }
  }

  /// Whether the tunnel is in any state but down.
  package var isRunning: Bool { state != .disconnected }

  /// Whether the loss of its device moves the machine. Otherwise the next plan makes the same device again.
  package var noticesLoss: Bool {
    switch state {
    case .ready, .withdrawing: true
    default: level.hasRoutes
    }
  }

  package var level: Level {
    switch state {
    case .disconnected, .preparing, .backingOff, .disconnecting: .nothing
    case .readying, .ready: .device
    case .awaitingPeer, .withdrawing, .arming(_, _, hasLink: false): .link
    case .arming, .armed, .called: .armed
    case .applying, .connected, .reasserting: .full
    }
  }

  /// When to send `tick`; `nil`: never.
  package var nextDeadline: Moment? {
    switch state {
    case .preparing(_, let deadline), .awaitingPeer(_, let deadline), .applying(_, let deadline), .arming(_, let deadline, _): deadline
    case .called(let deadline), .withdrawing(let deadline), .readying(_, let deadline): deadline
    case .reasserting(let deadline): deadline
    case .backingOff(_, let until): until
    case .disconnected, .ready, .armed, .connected, .disconnecting: nil
    }
  }

  /// The reason why a wanted tunnel is not connected; `nil`: there is none, or it is still connecting.
  package var trouble: ReasonCode? {
    switch state {
    case .reasserting(nil): .noNetwork
    case .reasserting: doubt?.code ?? failure?.code ?? .networkChanged
    case .backingOff, .armed: failure?.code
    case .preparing, .awaitingPeer, .applying, .arming, .called, .connected, .withdrawing, .readying, .ready, .disconnecting, .disconnected:
      nil
    }
  }

  /// The word of the state. A tunnel of which only the device is wanted is disconnected, whatever becomes of its device.
  package var status: String {
    switch state {
    case .preparing where target == .ready, .backingOff where target == .ready, .disconnecting where endsDeviceAlone: "disconnected"
    default: state.status
    }
  }
}
