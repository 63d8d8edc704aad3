internal import Glibc
internal import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// The service of a user's session: a tray item with a menu, and notifications, from the agent's state on D-Bus.
package final class DesktopService {
  /// Traffic is blocked for a moment at each connect: only what lasts longer is a notice.
  private static let passing = Duration.seconds(5)

  /// Waits so long at its end for the session's service manager.
  private static let farewell = Duration.seconds(2)

  private let loop: EventLoop
  private let session: SystemBus
  private let agent: AgentWatch
  private let item: StatusNotifierItem
  private let menu: DesktopMenu
  private let notifier: Notifier
  private let environment: SessionEnvironment
  private var blocking: EventSource?
  private var ending: EventSource?
  private var isBlockingNoticed = false

  /// The addresses as in the D-Bus specification; by default those of the environment, or the standard paths. `folder`: its
  /// folder for files; by default that of its service.
  package init(on loop: EventLoop, system: String? = nil, session address: String? = nil, folder: String? = nil) {
    self.loop = loop
    session = SystemBus(on: loop, address: address ?? Self.sessionAddress)
    agent = AgentWatch(on: loop, address: system)
    item = StatusNotifierItem(session, process: getpid(), TrayItem(nil))
    menu = DesktopMenu(session, TrayMenu(nil))
    notifier = Notifier(session)
    environment = SessionEnvironment(session, folder: folder ?? SessionEnvironment.runtimeFolder)
    agent.changed = { [weak self] _ in self?.refresh() }
    menu.chosen = { [weak self] in self?.carryOut($0) }
    notifier.chosen = { [weak self] in self?.carryOut($0) }
    session.opened = { [weak self] in
      guard let self else { return }
      item.busOpened()
      menu.busOpened()
      notifier.busOpened()
      environment.busOpened()
      session.isWell()
    }
  }

  package func start() {
    session.connect()
    agent.start()
  }

  /// Takes back what it has set in the session, and ends the loop.
  package func end() {
    ending = try? loop.at(.now + Self.farewell) { [loop] in loop.stop() }
    environment.settled = { [loop] in loop.stop() }
    environment.clear()
  }

  static var sessionAddress: String {
    if let named = getenv("DBUS_SESSION_BUS_ADDRESS") { return String(cString: named) }
    return "unix:path=" + (getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? "/run/user/\(getuid())") + "/bus"
  }

  private func refresh() {
    let view = agent.view
    environment.set(view?.proxyEnvironment ?? [])
    item.show(TrayItem(view))
    menu.show(TrayMenu(view))
    if view?.isBlocking != true {
      blocking = nil
      isBlockingNoticed = false
    } else if blocking == nil {
      blocking = try? loop.at(.now + Self.passing) { [weak self] in
        self?.isBlockingNoticed = true
        self?.refresh()
      }
    }
    notifier.update(Notice.due(view).filter { $0.kind != .blocked || isBlockingNoticed })
  }

  private func carryOut(_ action: AgentAction) {
    agent.carryOut(action) { [weak self] refusal in
      guard let refusal else { return }
      self?.notifier.showOnce(Notice(kind: .refused, summary: "VPN: not done", text: refusal))
    }
  }
}
