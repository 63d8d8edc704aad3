internal import LinuxIO
package import SystemdIO

/// The tray item's menu (com.canonical.dbusmenu, as libdbusmenu describes it).
package final class DesktopMenu {
  private typealias Value = BusInterface.Value
  static let path = "/MenuBar"

  private static let interface = BusInterface(
    "com.canonical.dbusmenu",
    methods: [
      .init(
        "GetLayout", [Value("parentId", "i"), Value("recursionDepth", "i"), Value("propertyNames", "as")],
        results: [Value("revision", "u"), Value("layout", "(ia{sv}av)")]),
      .init("GetGroupProperties", [Value("ids", "ai"), Value("propertyNames", "as")], results: [Value("properties", "a(ia{sv})")]),
      .init("GetProperty", [Value("id", "i"), Value("name", "s")], results: [Value("value", "v")]),
      .init("Event", [Value("id", "i"), Value("eventId", "s"), Value("data", "v"), Value("timestamp", "u")]),
      .init("EventGroup", [Value("events", "a(isvu)")], results: [Value("idErrors", "ai")]),
      .init("AboutToShow", [Value("id", "i")], results: [Value("needUpdate", "b")]),
      .init("AboutToShowGroup", [Value("ids", "ai")], results: [Value("updatesNeeded", "ai"), Value("idErrors", "ai")]),
    ],
    properties: [Value("Version", "u"), Value("TextDirection", "s"), Value("Status", "s"), Value("IconThemePath", "as")],
    signals: [
      .init("ItemsPropertiesUpdated", [Value("updatedProps", "a(ia{sv})"), Value("removedProps", "a(ias)")]),
      .init("LayoutUpdated", [Value("revision", "u"), Value("parent", "i")]),
      .init("ItemActivationRequested", [Value("id", "i"), Value("timestamp", "u")]),
    ])

  private let bus: SystemBus
  private let objects: BusObjects
  private var menu: TrayMenu
  private var numbers: MenuNumbers
  private var revision: UInt32 = 1
  /// Called for the entry that a person chose.
  package var chosen: (AgentAction) -> Void = { _ in }

  package init(_ bus: SystemBus, _ menu: TrayMenu) {
    self.bus = bus
    self.menu = menu
    numbers = MenuNumbers(menu)
    objects = BusObjects(bus, root: Self.path, interfaces: [Self.interface], managesObjects: false)
    objects.called = { [weak self] in self?.answer($0) }
    objects.update([
      Self.path: [
        Self.interface.name: [
          "Version": .uint32(3), "TextDirection": .string("ltr"), "Status": .string("normal"), "IconThemePath": .strings([]),
        ]
      ]
    ])
  }

  package func busOpened() { objects.export() }

  package func show(_ menu: TrayMenu) {
    guard menu != self.menu else { return }
    self.menu = menu
    numbers.show(menu)
    revision += 1
    bus.emit(Self.path, Self.interface.name, "LayoutUpdated", [.uint32(revision), .int32(0)])
  }

  private func answer(_ call: BusCall) {
    func number(_ value: BusValue?) -> Int32 {
      if case .integer(let number) = value { Int32(clamping: number) } else { -1 }
    }
    switch call.member {
    case "GetLayout":
      guard let layout = layout(number(call.values[0]), depth: number(call.values[1])) else { return refuse(call) }
      call.reply(.uint32(revision), layout)
    case "GetGroupProperties":
      let asked = (call.values[0].list ?? []).map { number($0) }
      let wanted = asked.isEmpty ? numbers.all : asked
      call.reply(
        .array(
          of: "(ia{sv})",
          wanted.compactMap { number in
            numbers.entry(number).map { .structure([.int32(number), .properties(Self.properties(of: $0.entry))]) }
          }))
    case "GetProperty":
      guard let entry = numbers.entry(number(call.values[0]))?.entry, let value = Self.properties(of: entry)[call.values[1].text ?? ""]
      else {
        return refuse(call)
      }
      call.reply(.variant(value))
    case "Event":
      call.reply()
      take(number(call.values[0]), call.values[1].text)
    case "EventGroup":
      call.reply(.array(of: "i", []))
      for event in call.values[0].list ?? [] { take(number(event[0]), event[1]?.text) }
    case "AboutToShow": call.reply(.bool(false))
    default: call.reply(.array(of: "i", []), .array(of: "i", []))
    }
  }

  private func refuse(_ call: BusCall) { call.fail("org.freedesktop.DBus.Error.InvalidArgs", "the menu has no such entry or property") }

  private func take(_ number: Int32, _ event: String?) {
    if event == "clicked", let action = numbers.entry(number)?.entry.action { chosen(action) }
  }

  /// `(ia{sv}av)`; a depth of -1 is the whole tree.
  private func layout(_ number: Int32, depth: Int32) -> BusArgument? {
    guard let (entry, children) = numbers.entry(number) else { return nil }
    let below = depth == 0 ? [] : children.compactMap { layout($0, depth: depth - 1) }
    return .structure([.int32(number), .properties(Self.properties(of: entry)), .array(of: "v", below.map { .variant($0) })])
  }

  private static func properties(of entry: MenuEntry) -> [String: BusArgument] {
    if entry.isSeparator { return ["type": .string("separator")] }
    // An underscore marks an access key.
    var properties: [String: BusArgument] = ["label": .string(entry.label.replacing("_", with: "__"))]
    if !entry.isEnabled { properties["enabled"] = .bool(false) }
    if !entry.children.isEmpty { properties["children-display"] = .string("submenu") }
    return properties
  }
}
