package import SystemdIO

/// The agent's interfaces on D-Bus. docs/dbus.md describes every member; a test compares the two.
package enum AgentInterface {
  package static let service = "net.roamward.Agent1"
  package static let root = "/net/roamward/Agent1"
  package static let tunnels = "/net/roamward/Agent1/tunnel"

  private typealias Value = BusInterface.Value

  /// The arguments of a manual override or a suspension.
  private static let lifetime = [Value("until", "s"), Value("seconds", "t"), Value("reason", "s")]

  /// The interface of the topmost object.
  package static let agent = BusInterface(
    service,
    methods: [
      .init("OpenPortal", [Value("seconds", "t"), Value("reason", "s")]),
      .init("SuspendKillSwitch", lifetime),
      .init("Resume"),
      .init("Apply", [Value("files", "a(ss)"), Value("confirm_within", "t")]),
      .init("Confirm"),
      .init("Revert"),
    ],
    properties: [
      Value("Version", "s"), Value("Starting", "b"), Value("Situation", "s"), Value("Blocking", "b"), Value("BlockedBy", "as"),
      Value("KillSwitchText", "s"), Value("KillSwitchUntil", "t"), Value("Link", "s"), Value("LinkType", "s"), Value("Ssid", "s"),
      Value("CaptivePortal", "b"), Value("PolicyErrors", "u"), Value("TrialUntil", "t"), Value("Tunnels", "ao"),
      Value("ProxyAddress", "s"), Value("ProxyEnvironment", "as"),
    ],
    signals: [.init("Warning", [Value("tunnel", "s"), Value("code", "s"), Value("message", "s")])])

  /// The interface of an object for each tunnel.
  package static let tunnel = BusInterface(
    "\(service).Tunnel",
    methods: [
      .init("Up", lifetime),
      .init("Down", lifetime),
      .init("Resume"),
      .init("Answer", [Value("question", "u"), Value("answer", "s")]),
    ],
    properties: [
      Value("Name", "s"), Value("State", "s"), Value("Since", "t"), Value("Enabled", "b"), Value("Wanted", "b"), Value("Decision", "s"),
      Value("Reason", "s"), Value("ReasonCode", "s"), Value("Failure", "s"), Value("FailureCode", "s"), Value("Override", "s"),
      Value("OverrideLifetime", "s"), Value("OverrideUntil", "t"), Value("Link", "s"), Value("Endpoint", "s"), Value("Through", "s"),
      Value("Questions", "a(uss)"),
    ],
    signals: [
      .init("StateChanged", [Value("from", "s"), Value("to", "s"), Value("code", "s"), Value("reason", "s")]),
      .init("Failed", [Value("code", "s"), Value("reason", "s")]),
      .init("Question", [Value("number", "u"), Value("kind", "s"), Value("prompt", "s")]),
    ])

  package static func path(of tunnel: String) -> String { "\(tunnels)/\(busPathElement(tunnel))" }
}
