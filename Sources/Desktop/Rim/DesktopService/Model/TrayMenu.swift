/// An entry of the tray item's menu.
package struct MenuEntry: Equatable, Sendable {
  package var label: String
  /// `nil`: it is text, a separator or a submenu.
  package var action: AgentAction?
  package var children: [MenuEntry] = []
  package var isSeparator = false

  package init(_ label: String, _ action: AgentAction? = nil, children: [MenuEntry] = []) {
    self.label = label
    self.action = action
    self.children = children
  }

  static var separator: MenuEntry {
    var entry = MenuEntry("")
    entry.isSeparator = true
    return entry
  }

  var isEnabled: Bool { action != nil || !children.isEmpty }
}

/// The tray item's menu.
package struct TrayMenu: Equatable, Sendable {
  package let root: MenuEntry

  package init(_ view: AgentView?) {
    guard let view else {
      root = MenuEntry("", children: [MenuEntry("The agent does not run (systemctl start roamwardd)")])
      return
    }
    var entries: [MenuEntry] = []
    if !view.killSwitchText.isEmpty { entries += [MenuEntry(view.killSwitchText), .separator] }
    entries += view.tunnels.isEmpty ? [MenuEntry("No policy has a tunnel")] : view.tunnels.filter(\.isEnabled).map(Self.entry)
    entries.append(.separator)
    if view.situation == "guarded" {
      entries += [
        MenuEntry("Open the web to sign in to this network", .openPortal),
        MenuEntry("Suspend the kill switch until the network changes…", .suspend),
      ]
    }
    if ["portal", "released"].contains(view.situation) || view.tunnels.contains(where: { !$0.override.isEmpty }) {
      entries.append(MenuEntry("Resume the rules and the kill switch", .resumeAll))
    }
    if entries.last?.isSeparator == true { entries.removeLast() }
    root = MenuEntry("", children: entries)
  }

  private static func entry(_ tunnel: AgentView.Tunnel) -> MenuEntry {
    var children = [MenuEntry(tunnel.failure.isEmpty ? tunnel.reason : tunnel.failure)]
    children += tunnel.questions.map { MenuEntry("\($0.prompt): run `roamward answer \(tunnel.name)`") }
    children.append(.separator)
    children += AgentAction.Lifetime.allCases.map { MenuEntry("Connect \($0.words)", .up(tunnel.path, $0)) }
    children += AgentAction.Lifetime.allCases.map { MenuEntry("Disconnect \($0.words)", .down(tunnel.path, $0)) }
    if !tunnel.override.isEmpty { children += [.separator, MenuEntry("Follow the rules again", .resume(tunnel.path))] }
    return MenuEntry("\(tunnel.name): \(tunnel.state)", children: children)
  }
}
