import DesktopService
import Glibc
import LinuxIO
import NetworkTypes
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

/// The service on private buses, beside doubles of the agent, of a tray and of notifications.
@Suite("The desktop service", .enabled(if: PrivateBus.isPossible, "dbus-daemon is not installed"), .serialized)
struct DesktopBusTests {
  /// The agent's objects, as the test sets them.
  private final class AgentDouble {
    let bus: SystemBus
    let objects: BusObjects
    private(set) var calls: [String] = []
    var refusal: String?

    init(_ loop: EventLoop, _ address: String) {
      bus = SystemBus(on: loop, address: address)
      let tunnel = BusInterface(
        "net.roamward.Agent1.Tunnel",
        methods: [.init("Up", [.init("until", "s"), .init("seconds", "t"), .init("reason", "s")])])
      let agent = BusInterface(
        "net.roamward.Agent1",
        methods: [.init("SuspendKillSwitch", [.init("until", "s"), .init("seconds", "t"), .init("reason", "s")])])
      objects = BusObjects(bus, root: "/net/roamward/Agent1", interfaces: [agent, tunnel])
      objects.called = { [unowned self] call in
        calls.append("\(call.path.split(separator: "/").last ?? "") \(call.member) \(call.values[0].text ?? "") \(call.mayInteract)")
        if let refusal { call.fail("net.roamward.Agent1.Error.NotAllowed", refusal) } else { call.reply() }
      }
      show("disconnected")
      bus.opened = { [unowned self] in
        objects.export()
        bus.own("net.roamward.Agent1") { _ in }
      }
      bus.connect()
    }

    func show(_ state: String, isBlocking: Bool = false, question: String? = nil, variables: [String] = []) {
      let questions: [BusArgument] = question.map { [.structure([.uint32(1), .string("code"), .string($0)])] } ?? []
      objects.update([
        "/net/roamward/Agent1": [
          "net.roamward.Agent1": [
            "Situation": .string(isBlocking ? "guarded" : "open"), "Blocking": .bool(isBlocking),
            "KillSwitchText": .string(isBlocking ? "blocked: a < b" : ""), "ProxyEnvironment": .strings(variables),
          ]
        ],
        Sample.path: [
          "net.roamward.Agent1.Tunnel": [
            "Name": .string("corp"), "State": .string(state), "Enabled": .bool(true), "Reason": .string("abroad"),
            "Questions": .array(of: "(uss)", questions),
          ]
        ],
      ])
    }
  }

  /// A tray and a notification daemon on the session's bus.
  private final class SessionDouble {
    let bus: SystemBus
    private let watcher: BusObjects
    private let notifications: BusObjects
    private(set) var item: String?
    private(set) var notices: [String] = []
    var changed: () -> Void = {}

    init(_ loop: EventLoop, _ address: String, hasTray: Bool = true, shows: Bool = true) {
      bus = SystemBus(on: loop, address: address)
      let register = BusInterface.Method("RegisterStatusNotifierItem", [.init("service", "s")])
      watcher = BusObjects(
        bus, root: "/StatusNotifierWatcher", interfaces: [BusInterface("org.kde.StatusNotifierWatcher", methods: [register])])
      let notify = BusInterface.Method(
        "Notify", ["s", "u", "s", "s", "s", "as", "a{sv}", "i"].enumerated().map { .init("x\($0.offset)", $0.element) },
        results: [.init("id", "u")])
      let close = BusInterface.Method("CloseNotification", [.init("id", "u")])
      let name = "org.freedesktop.Notifications"
      notifications = BusObjects(bus, root: "/org/freedesktop/Notifications", interfaces: [BusInterface(name, methods: [notify, close])])
      watcher.update(["/StatusNotifierWatcher": ["org.kde.StatusNotifierWatcher": [:]]])
      notifications.update(["/org/freedesktop/Notifications": [name: [:]]])
      watcher.called = { [unowned self] call in
        item = call.values[0].text
        call.reply()
        changed()
      }
      notifications.called = { [unowned self] call in
        if call.member == "Notify" {
          let buttons = call.values[5].list?.compactMap(\.text).joined(separator: ",") ?? ""
          notices.append("\(call.values[3].text ?? "") | \(call.values[4].text ?? "") | \(buttons)")
          call.reply(.uint32(UInt32(notices.count)))
        } else {
          notices.append("closed \(call.values[0].unsigned ?? 0)")
          call.reply()
        }
        changed()
      }
      bus.opened = { [unowned self] in
        watcher.export()
        notifications.export()
        if hasTray { showTray() }
        if shows { showNotifications() }
      }
      bus.connect()
    }

    func showNotifications() { bus.own("org.freedesktop.Notifications") { _ in } }

    func showTray() { bus.own("org.kde.StatusNotifierWatcher") { _ in } }

    func invoke(_ number: UInt32, _ key: String) {
      bus.emit("/org/freedesktop/Notifications", "org.freedesktop.Notifications", "ActionInvoked", [.uint32(number), .string(key)])
    }
  }

  /// `body` gets both doubles, and the function that ends the test.
  private func onBuses<Result>(
    hasTray: Bool = true, shows: Bool = true,
    _ body: @escaping (EventLoop, AgentDouble, SessionDouble, @escaping (Result) -> Void) throws -> Void
  ) throws -> Result {
    let (system, session) = (try PrivateBus(), try PrivateBus())
    try system.start()
    try session.start()
    return try onLoop { loop, done in
      let agent = AgentDouble(loop, system.address)
      let desktop = SessionDouble(loop, session.address, hasTray: hasTray, shows: shows)
      let service = DesktopService(on: loop, system: system.address, session: session.address)
      try body(loop, agent, desktop, done)
      service.start()
      return [agent, desktop, service] as [AnyObject]
    }
  }

  private func property(_ desktop: SessionDouble, _ name: String, then: @escaping (BusValue?) -> Void) {
    desktop.bus.call(
      desktop.item ?? "", "/StatusNotifierItem", "org.freedesktop.DBus.Properties", "Get",
      [.string("org.kde.StatusNotifierItem"), .string(name)], within: .seconds(20)
    ) { if case .success(let values) = $0 { then(values.first) } else { then(nil) } }
  }

  @Test("registers a tray item that follows the agent's state") func item() throws {
    let seen: [String] = try onBuses { loop, agent, desktop, done in
      var states = ["connecting", "connected", "reasserting", "disconnected"]
      var seen: [String] = []
      func look() {
        self.property(desktop, "IconName") { icon in
          self.property(desktop, "Menu") { menu in
            let text = "\(icon?.text ?? "") \(menu?.text ?? "")"
            guard seen.last != text else { return }
            seen.append(text)
            if states.isEmpty { done(seen) } else { agent.show(states.removeFirst()) }
          }
        }
      }
      desktop.changed = {
        desktop.bus.match("type='signal',interface='org.kde.StatusNotifierItem',member='NewIcon'") { _ in look() }
        look()
      }
    }
    #expect(
      seen.map { $0.split(separator: " ").first ?? "" } == [
        "network-vpn-disconnected-symbolic", "network-vpn-acquiring-symbolic", "network-vpn-symbolic", "network-vpn-acquiring-symbolic",
        "network-vpn-disconnected-symbolic",
      ])
    #expect(seen.allSatisfy { $0.hasSuffix(" /MenuBar") })
  }

  @Test("a tray that starts later gets the item") func lateTray() throws {
    let item: String = try onBuses(hasTray: false) { loop, agent, desktop, done in
      desktop.changed = { if let item = desktop.item { done(item) } else { desktop.showTray() } }
      // Without a tray, a notification comes all the same.
      agent.show("connecting", question: "The code")
    }
    #expect(item == "org.kde.StatusNotifierItem-\(getpid())-1")
  }

  @Test("a notification daemon that starts later gets the notices that are right then") func lateDaemon() throws {
    let notices: [String] = try onBuses(shows: false) { loop, agent, desktop, done in
      agent.show("connecting", question: "The first code")
      var isLater = false
      func look() {
        property(desktop, "ToolTip") { text in
          // The service has seen the question, so that it has sent the notice too.
          guard !isLater, "\(text as Any)".contains("connecting") else { return }
          isLater = true
          agent.show("connecting", question: "The second code")
          desktop.showNotifications()
        }
      }
      desktop.changed = {
        if desktop.item != nil, desktop.notices.isEmpty {
          desktop.bus.match("type='signal',interface='org.kde.StatusNotifierItem'") { _ in look() }
          look()
        } else if desktop.notices.last?.contains("second") == true {
          done(desktop.notices)
        }
      }
    }
    #expect(notices.last == "corp asks: The second code | Run `roamward answer corp` in a terminal. | ")
  }

  @Test("an entry of the menu calls the agent, and a refusal is shown") func menu() throws {
    let seen: [String] = try onBuses { loop, agent, desktop, done in
      agent.refusal = "not you"
      func layout(then: @escaping (BusValue?) -> Void) {
        desktop.bus.call(
          desktop.item ?? "", "/MenuBar", "com.canonical.dbusmenu", "GetLayout", [.int32(0), .int32(-1), .strings([])], within: .seconds(20)
        ) { if case .success(let values) = $0 { then(values.count > 1 ? values[1] : nil) } }
      }
      var hasClicked = false
      func click() {
        layout { layout in
          guard !hasClicked else { return }
          // Until the agent's state is known, the menu says that it does not run.
          guard let tunnel = layout?[2]?[0], tunnel[1]?["label"]?.text == "corp: disconnected", let entry = tunnel[2]?[3] else { return }
          guard case .integer(let number)? = entry[0], entry[1]?["label"]?.text == "Connect for 1 hour" else { return }
          hasClicked = true
          desktop.bus.call(
            desktop.item ?? "", "/MenuBar", "com.canonical.dbusmenu", "Event",
            [.int32(Int32(number)), .string("clicked"), .variant(.int32(0)), .uint32(0)], within: .seconds(20)
          ) { _ in }
        }
      }
      desktop.changed = {
        if desktop.notices.isEmpty {
          desktop.bus.match("type='signal',interface='com.canonical.dbusmenu',member='LayoutUpdated'") { _ in click() }
          click()
        } else {
          done(agent.calls + desktop.notices)
        }
      }
    }
    #expect(seen == ["corp Up time true", "VPN: not done | not you | "])
  }

  @Test("blocked traffic is a notification, if it lasts; its button calls the agent, and it is closed when traffic flows")
  func notice() throws {
    let seen: [String] = try onBuses { loop, agent, desktop, done in
      agent.show("connecting", isBlocking: true)
      var watch: EventSource?
      desktop.changed = {
        switch desktop.notices.count {
        case 1:
          desktop.invoke(1, "1")
          func look() {
            // By way of two daemons.
            if agent.calls.isEmpty { watch = try? loop.at(.now + .milliseconds(50)) { look() } } else { agent.show("connected") }
          }
          watch = try? loop.at(.now + .milliseconds(300)) { look() }
        case 2: done(agent.calls + desktop.notices)
        default: break
        }
        withExtendedLifetime(watch) {}
      }
    }
    #expect(
      seen == [
        "Agent1 SuspendKillSwitch network true",
        "VPN: traffic is blocked | blocked: a &lt; b | 0,Open the web to sign in,1,Suspend the kill switch", "closed 1",
      ])
  }
}
