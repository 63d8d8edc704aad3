internal import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// Shows notices (Desktop Notifications Specification).
package final class Notifier {
  private static let (service, path) = ("org.freedesktop.Notifications", "/org/freedesktop/Notifications")
  private static let patience = Duration.seconds(10)
  /// At most one notification of a kind within this time.
  package static let pause = Duration.seconds(60)

  /// A notice and the daemon.
  private enum Display {
    /// No daemon took it: it is sent when one appears.
    case waiting
    case sent(Notice)
    /// On the screen, under the daemon's number.
    case shown(Notice, UInt32)
  }

  private let bus: SystemBus
  /// The notices that are right now.
  private var due: [Notice] = []
  /// Of those that were sent, and that no person has closed.
  private var displays: [Notice.Kind: Display] = [:]
  private var lastShown: [Notice.Kind: Moment] = [:]
  /// Called for the button that a person pressed.
  package var chosen: (AgentAction) -> Void = { _ in }

  package init(_ bus: SystemBus) { self.bus = bus }

  package func busOpened() {
    displays = [:]
    let rule = "type='signal',sender='\(Self.service)',interface='\(Self.service)',member="
    bus.match(rule + "'ActionInvoked'") { [weak self] in self?.invoked($0) }
    bus.match(rule + "'NotificationClosed'") { [weak self] values in
      guard let self, let number = values.first?.unsigned, let kind = kind(of: number) else { return }
      displays[kind] = nil
    }
    bus.match("type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.service)'") { [weak self] values in
      self?.daemonChanged(isThere: values.count > 2 && values[2].text != "")
    }
    let now = due
    due = []
    update(now)
  }

  /// Shows what is new among the notices, and closes what is over.
  package func update(_ new: [Notice]) {
    let old = due
    due = new
    for notice in old where !new.contains(where: { $0.kind == notice.kind }) { close(notice.kind) }
    for notice in new where !old.contains(notice) {
      switch displays[notice.kind] {
      case .shown, .waiting: send(notice)
      // The answer is compared with what is due then.
      case .sent: break
      // A change of its text is shown only where it is still on the screen.
      case nil: if !old.contains(where: { $0.kind == notice.kind }) { showUnlessRecent(notice) }
      }
    }
  }

  /// Shows a notice that no state brings, and that ends by itself.
  package func showOnce(_ notice: Notice) { send(notice) }

  private func showUnlessRecent(_ notice: Notice) {
    if let last = lastShown[notice.kind], .now - last < Self.pause { return }
    send(notice)
  }

  private func send(_ notice: Notice) {
    let replaced: UInt32 = if case .shown(_, let number) = displays[notice.kind] { number } else { 0 }
    displays[notice.kind] = .sent(notice)
    lastShown[notice.kind] = .now
    let actions = notice.actions.enumerated().flatMap { ["\($0.offset)", $0.element.button] }
    let arguments: [BusArgument] = [
      .string("Roamward"), .uint32(replaced), .string("network-vpn-symbolic"), .string(notice.summary),
      .string(Self.markup(notice.text)), .strings(actions), .properties(["desktop-entry": .string("roamward")]), .int32(-1),
    ]
    bus.call(Self.service, Self.path, Self.service, "Notify", arguments, within: Self.patience, startsService: true) { [weak self] result in
      guard case .success(let values) = result, let number = values.first?.unsigned else {
        self?.displays[notice.kind] = .waiting
        return
      }
      self?.taken(notice, UInt32(clamping: number))
    }
  }

  private func taken(_ notice: Notice, _ number: UInt32) {
    displays[notice.kind] = .shown(notice, number)
    guard notice.kind != .refused else { return }
    guard let now = due.first(where: { $0.kind == notice.kind }) else { return close(notice.kind) }
    if now != notice { send(now) }
  }

  /// A daemon that starts shows none of its predecessor's.
  private func daemonChanged(isThere: Bool) {
    for (kind, display) in displays { if case .shown = display { displays[kind] = .waiting } }
    guard isThere else { return }
    let waiting = displays.filter { if case .waiting = $0.value { true } else { false } }.keys
    for kind in waiting {
      if let notice = due.first(where: { $0.kind == kind }) { send(notice) } else { displays[kind] = nil }
    }
  }

  private func close(_ kind: Notice.Kind) {
    switch displays[kind] {
    case .shown(_, let number):
      bus.call(Self.service, Self.path, Self.service, "CloseNotification", [.uint32(number)], within: Self.patience) { _ in }
      displays[kind] = nil
    case .waiting:
      displays[kind] = nil
      lastShown[kind] = nil
    // Closed when the daemon has given it a number.
    case .sent, nil: break
    }
  }

  private func kind(of number: UInt64) -> Notice.Kind? {
    displays.first { if case .shown(_, let shown) = $0.value { shown == number } else { false } }?.key
  }

  private func invoked(_ values: [BusValue]) {
    guard values.count > 1, let number = values[0].unsigned, let place = values[1].text.flatMap({ Int($0) }),
      let kind = kind(of: number), let notice = due.first(where: { $0.kind == kind }),
      notice.actions.indices.contains(place)
    else { return }
    chosen(notice.actions[place])
  }

  /// The body is markup.
  private static func markup(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }
}
