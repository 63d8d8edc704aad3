internal import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// Shows notices (Desktop Notifications Specification).
package final class Notifier {
  private static let (service, path) = ("org.freedesktop.Notifications", "/org/freedesktop/Notifications")
  private static let patience = Duration.seconds(10)
  /// At most one notification of a kind within this time.
  package static let pause = Duration.seconds(60)

  private let bus: SystemBus
  /// The notices that are right now.
  private var due: [Notice] = []
  /// The numbers of those that are shown.
  private var shown: [Notice.Kind: UInt32] = [:]
  private var lastShown: [Notice.Kind: Moment] = [:]
  /// Called for the button that a person pressed.
  package var chosen: (AgentAction) -> Void = { _ in }

  package init(_ bus: SystemBus) { self.bus = bus }

  package func busOpened() {
    shown = [:]
    let rule = "type='signal',sender='\(Self.service)',interface='\(Self.service)',member="
    bus.match(rule + "'ActionInvoked'") { [weak self] in self?.invoked($0) }
    bus.match(rule + "'NotificationClosed'") { [weak self] values in
      guard let self, let number = values.first?.unsigned else { return }
      shown = shown.filter { $0.value != number }
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
    for notice in new where !old.contains(notice) { show(notice, isReplacement: old.contains { $0.kind == notice.kind }) }
  }

  /// Shows a notice that no state brings, and that ends by itself.
  package func show(_ notice: Notice, isReplacement: Bool = false) {
    let now = Moment.now
    // A change of its text is shown only where it is still on the screen.
    if isReplacement, shown[notice.kind] == nil { return }
    if !isReplacement, let last = lastShown[notice.kind], now - last < Self.pause, notice.kind != .refused { return }
    lastShown[notice.kind] = now
    let actions = notice.actions.enumerated().flatMap { ["\($0.offset)", $0.element.button] }
    let arguments: [BusArgument] = [
      .string("Roamward"), .uint32(shown[notice.kind] ?? 0), .string("network-vpn-symbolic"), .string(notice.summary),
      .string(Self.markup(notice.text)), .strings(actions), .properties(["desktop-entry": .string("roamward")]), .int32(-1),
    ]
    bus.call(Self.service, Self.path, Self.service, "Notify", arguments, within: Self.patience, startsService: true) { [weak self] result in
      guard let self, case .success(let values) = result, let number = values.first?.unsigned else { return }
      shown[notice.kind] = UInt32(clamping: number)
      if notice.kind != .refused, !due.contains(where: { $0.kind == notice.kind }) { close(notice.kind) }
    }
  }

  private func close(_ kind: Notice.Kind) {
    guard let number = shown.removeValue(forKey: kind) else { return }
    bus.call(Self.service, Self.path, Self.service, "CloseNotification", [.uint32(number)], within: Self.patience) { _ in }
  }

  private func invoked(_ values: [BusValue]) {
    guard values.count > 1, let number = values[0].unsigned, let place = values[1].text.flatMap({ Int($0) }),
      let kind = shown.first(where: { $0.value == number })?.key, let notice = due.first(where: { $0.kind == kind }),
      notice.actions.indices.contains(place)
    else { return }
    chosen(notice.actions[place])
  }

  /// The body is markup.
  private static func markup(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }
}
