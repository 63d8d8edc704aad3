/// The look of the tray item. Icons are names of the Icon Naming Specification, which every icon theme has.
package struct TrayItem: Equatable, Sendable {
  package var icon: String
  /// Whether a person should look: traffic is blocked, or something is asked.
  package var needsAttention: Bool
  package var title: String
  package var text: String

  package init(_ view: AgentView?) {
    title = "Roamward"
    guard let view else {
      (icon, needsAttention, text) = ("network-vpn-disconnected-symbolic", false, "the agent does not run")
      return
    }
    let question = view.tunnels.first { !$0.questions.isEmpty }
    needsAttention = view.isBlocking || question != nil
    let lines = view.active.map { "\($0.name): \($0.state) (\($0.reason))" }
    text = ([view.killSwitchText].filter { !$0.isEmpty } + (lines.isEmpty ? ["no tunnel is up"] : lines)).joined(separator: "\n")
    icon =
      if view.isBlocking {
        "network-error-symbolic"
      } else if question != nil {
        "dialog-password-symbolic"
      } else if view.active.contains(where: { ["connecting", "reasserting", "disconnecting"].contains($0.state) }) {
        "network-vpn-acquiring-symbolic"
      } else {
        view.active.isEmpty ? "network-vpn-disconnected-symbolic" : "network-vpn-symbolic"
      }
  }
}
