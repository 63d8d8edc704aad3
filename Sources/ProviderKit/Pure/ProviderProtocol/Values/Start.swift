public import JSON
public import NetworkTypes

/// The request to start a tunnel.
public struct StartRequest: Hashable, Sendable {
  /// The tunnel's options, as its policy has them: a JSON object that fits the manifest's schema.
  public var options: JSON
  /// The network below the tunnel. `nil`: there is none now.
  public var network: NetworkPath?
  /// Whether a person can answer questions. If not, each question is answered by `unavailable` at once.
  public var mayAsk: Bool

  public init(options: JSON = [:], network: NetworkPath? = nil, mayAsk: Bool = false) {
    self.options = options
    self.network = network
    self.mayAsk = mayAsk
  }
}

/// The network below the tunnel: Network Extension's `NWPath`, as far as a provider needs it.
public struct NetworkPath: Hashable, Sendable {
  /// The kind of a network's interface.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A cable.
    case ethernet
    /// Wi-Fi.
    case wifi
    /// A mobile network.
    case cellular
    /// Any other.
    case other
  }

  /// The interface's name: `wlan0`.
  public var interface: String
  public var kind: Kind
  /// Whether traffic costs money. `nil`: unknown.
  public var isMetered: Bool?
  /// The interface's addresses, 16 at most.
  public var addresses: [InterfaceAddress]

  public init(interface: String, kind: Kind, isMetered: Bool? = nil, addresses: [InterfaceAddress] = []) {
    self.interface = interface
    self.kind = kind
    self.isMetered = isMetered
    self.addresses = addresses
  }
}

/// The reason why the agent stops a tunnel: Network Extension's `NEProviderStopReason`, and the agent's own.
public enum StopReason: String, Hashable, Sendable, CaseIterable {
  /// No particular reason.
  case none
  /// A person: `roamward down`.
  case person
  /// A rule of the policy.
  case rule
  /// The tunnel has failed, and is taken down.
  case failed
  /// There is no network.
  case noNetwork = "no-network"
  /// The network changed in a way that the tunnel cannot survive.
  case networkChanged = "network-changed"
  /// The tunnel is disabled in its policy.
  case disabled
  /// Signing in was cancelled.
  case authenticationCancelled = "authentication-cancelled"
  /// The settings could not be applied.
  case settingsFailed = "settings-failed"
  /// No data for the policy's idle time.
  case idle
  /// The tunnel's policy was changed, and the tunnel starts again with it.
  case policyChanged = "policy-changed"
  /// The tunnel's policy was removed.
  case policyRemoved = "policy-removed"
  /// Another tunnel takes its place.
  case superseded
  /// The user logged out.
  case logout
  /// Another user took over the machine.
  case userSwitch = "user-switch"
  /// A new version of the provider is installed.
  case update
  /// The tunnel did not connect in time.
  case timeout
  /// The machine goes to sleep.
  case sleep
  /// The agent ends.
  case shutdown
}
