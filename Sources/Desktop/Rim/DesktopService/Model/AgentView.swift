internal import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// The agent's state on D-Bus (docs/dbus.md), as far as a person at a desktop is concerned.
package struct AgentView: Hashable, Sendable {
  /// A question of a tunnel's provider.
  package struct Question: Hashable, Sendable {
    package var number: UInt32
    package var prompt: String
  }

  package struct Tunnel: Hashable, Sendable {
    /// The object's path.
    package var path: String
    package var name: String
    package var state: String
    package var isEnabled: Bool
    package var reason: String
    package var failure: String
    package var failureCode: String
    /// `up`, `down`, or empty.
    package var override: String
    package var questions: [Question]
  }

  /// `open`, `guarded`, `portal` or `released`.
  package var situation: String
  package var isBlocking: Bool
  package var killSwitchText: String
  package var isPortal: Bool
  /// The variables of proxies for the session, each `NAME=value`.
  package var proxyEnvironment: [String]
  /// In the order of their names.
  package var tunnels: [Tunnel]

  /// The answers of `GetAll` of the topmost object, and of `GetManagedObjects`; `nil`: they are not the agent's.
  package init?(agent: BusValue, objects: BusValue) {
    guard agent.dictionary != nil, let objects = objects.dictionary else { return nil }
    situation = agent["Situation"]?.text ?? "open"
    isBlocking = agent["Blocking"]?.bool ?? false
    killSwitchText = agent["KillSwitchText"]?.text ?? ""
    isPortal = agent["CaptivePortal"]?.bool ?? false
    proxyEnvironment = (agent["ProxyEnvironment"]?.list ?? []).compactMap(\.text).filter(Self.isVariable)
    tunnels = objects.compactMap { path, object in object["net.roamward.Agent1.Tunnel"].map { Tunnel(path, $0) } }
      .sorted { ($0.name, $0.path) < ($1.name, $1.path) }
  }

  /// The agent's variables are of parsed values; a shell reads them.
  private static func isVariable(_ text: String) -> Bool {
    text.contains("=") && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"'\"\\$`".utf8.contains($0) }
  }

  /// The tunnels that are in use: connected, or about to be.
  package var active: [Tunnel] { tunnels.filter { $0.state != "disconnected" } }
}

extension AgentView.Tunnel {
  fileprivate init(_ path: String, _ object: BusValue) {
    func text(_ name: String) -> String { object[name]?.text ?? "" }
    self.init(
      path: path, name: text("Name"), state: text("State"), isEnabled: object["Enabled"]?.bool ?? false, reason: text("Reason"),
      failure: text("Failure"), failureCode: text("FailureCode"), override: text("Override"),
      questions: (object["Questions"]?.list ?? []).map { question in
        .init(number: UInt32(clamping: question[0]?.unsigned ?? 0), prompt: question[2]?.text ?? "")
      })
  }
}
