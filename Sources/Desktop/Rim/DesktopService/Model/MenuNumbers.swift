/// The numbers of a menu's entries on D-Bus, over all its changes. 0 is the menu itself.
///
/// A tray sends the number that a person clicked on in the menu that it shows, which may be the one before a change. So the number of an
/// action is never that of another action.
package struct MenuNumbers: Sendable {
  /// An entry below its parent: its action, or for texts and submenus its place among them.
  private enum Key: Hashable {
    case action(parent: Int32, AgentAction)
    case place(parent: Int32, Int)
  }

  private var known: [Key: Int32] = [:]
  private var shown: [Int32: (entry: MenuEntry, children: [Int32])] = [:]

  package init(_ menu: TrayMenu) { show(menu) }

  /// Takes the entries of a changed menu. New ones get new numbers, in the order of reading.
  package mutating func show(_ menu: TrayMenu) {
    shown = [:]
    add(menu.root, 0)
  }

  private mutating func add(_ entry: MenuEntry, _ number: Int32) {
    var children: [Int32] = []
    var places = 0
    for child in entry.children {
      var key = Key.place(parent: number, places)
      if let action = child.action { key = .action(parent: number, action) } else { places += 1 }
      let own = known[key] ?? Int32(known.count + 1)
      known[key] = own
      children.append(own)
      add(child, own)
    }
    shown[number] = (entry, children)
  }

  /// The entry of a number in the present menu, with the numbers of its children.
  package func entry(_ number: Int32) -> (entry: MenuEntry, children: [Int32])? { shown[number] }

  /// The numbers of the present menu.
  package var all: [Int32] { shown.keys.sorted() }
}
