extension TunnelMachine {
  /// The reason to doubt that a tunnel is still connected though the network is the same.
  package enum Doubt: Equatable, Sendable, CustomStringConvertible {
    case slept
    /// Another agent made the tunnel, and its answers prove nothing to this one.
    case agentRestarted
    /// Nothing was received for this long, though packets that require an answer were sent.
    case peerSilent(for: Duration)
    /// The provider carries no packets for now: why.
    case providerReasserting(String)

    package var description: String {
      switch self {
      case .slept: "the machine has slept, and the peer has not answered since"
      case .agentRestarted: "the agent was restarted, and the peer has not answered since"
      case .peerSilent(let time): "the peer has not answered for \(text(for: time)), though data was sent to it"
      case .providerReasserting(let reason): reason
      }
    }

    package var code: ReasonCode {
      switch self {
      case .slept: .slept
      case .agentRestarted: .agentRestarted
      case .peerSilent: .peerSilent
      case .providerReasserting: .providerReasserting
      }
    }

    /// The reason for giving up the tunnel after this time without an answered handshake.
    func failure(after time: Duration) -> String {
      switch self {
      case .slept: "the peer has not answered within \(text(for: time)) since the machine woke"
      case .agentRestarted: "the peer has not answered within \(text(for: time)) since the agent was restarted"
      case .peerSilent(let before): "the peer stopped answering: nothing was received for \(text(for: before + time))"
      case .providerReasserting(let reason): "the provider has not connected again: \(reason)"
      }
    }
  }
}
