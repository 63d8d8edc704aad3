internal import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// The tray item (org.kde.StatusNotifierItem), registered while a tray watches.
package final class StatusNotifierItem {
  private typealias Value = BusInterface.Value
  private static let path = "/StatusNotifierItem"
  private static let (watcher, pathOfWatcher) = ("org.kde.StatusNotifierWatcher", "/StatusNotifierWatcher")
  private static let patience = Duration.seconds(10)

  private static let interface = BusInterface(
    "org.kde.StatusNotifierItem",
    methods: [
      .init("ContextMenu", [Value("x", "i"), Value("y", "i")]), .init("Activate", [Value("x", "i"), Value("y", "i")]),
      .init("SecondaryActivate", [Value("x", "i"), Value("y", "i")]), .init("Scroll", [Value("delta", "i"), Value("orientation", "s")]),
    ],
    properties: [
      Value("Category", "s"), Value("Id", "s"), Value("Title", "s"), Value("Status", "s"), Value("WindowId", "i"), Value("IconName", "s"),
      Value("AttentionIconName", "s"), Value("ToolTip", "(sa(iiay)ss)"), Value("ItemIsMenu", "b"), Value("Menu", "o"),
    ],
    signals: [
      .init("NewTitle"), .init("NewIcon"), .init("NewAttentionIcon"), .init("NewToolTip"), .init("NewStatus", [Value("status", "s")]),
    ])

  private let bus: SystemBus
  private let objects: BusObjects
  private let name: String
  private var shown: TrayItem

  /// `process`: part of its name on the bus.
  package init(_ bus: SystemBus, process: Int32, _ item: TrayItem) {
    self.bus = bus
    name = "org.kde.StatusNotifierItem-\(process)-1"
    shown = item
    objects = BusObjects(bus, root: Self.path, interfaces: [Self.interface], managesObjects: false)
    // The menu is the item: there is no window to activate.
    objects.called = { $0.reply() }
    objects.update(Self.objects(item))
  }

  package func busOpened() {
    objects.export()
    bus.own(name) { _ in }
    bus.match("type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.watcher)'") { [weak self] values in
      if values.count > 2, values[2].text != "" { self?.register() }
    }
    register()
  }

  /// Without a watcher this has no effect; it is done again when one appears.
  private func register() {
    bus.call(
      Self.watcher, Self.pathOfWatcher, Self.watcher, "RegisterStatusNotifierItem", [.string(name)], within: Self.patience
    ) { _ in }
  }

  package func show(_ item: TrayItem) {
    guard item != shown else { return }
    let old = shown
    shown = item
    objects.update(Self.objects(item))
    func emit(_ name: String, _ arguments: [BusArgument] = []) { bus.emit(Self.path, Self.interface.name, name, arguments) }
    if item.icon != old.icon {
      emit("NewIcon")
      emit("NewAttentionIcon")
    }
    if item.text != old.text { emit("NewToolTip") }
    if item.needsAttention != old.needsAttention { emit("NewStatus", [.string(Self.status(item))]) }
  }

  private static func status(_ item: TrayItem) -> String { item.needsAttention ? "NeedsAttention" : "Active" }

  private static func objects(_ item: TrayItem) -> [String: BusObjects.Object] {
    [
      path: [
        interface.name: [
          "Category": .string("SystemServices"), "Id": .string("roamward"), "Title": .string(item.title), "Status": .string(status(item)),
          "WindowId": .int32(0), "IconName": .string(item.icon), "AttentionIconName": .string(item.icon),
          "ToolTip": .structure([.string(item.icon), .array(of: "(iiay)", []), .string(item.title), .string(item.text)]),
          "ItemIsMenu": .bool(true), "Menu": .path(DesktopMenu.path),
        ]
      ]
    ]
  }
}
