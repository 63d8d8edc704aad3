internal import NetworkTypes

/// Objects on a bus: one at a path, and others below it. Answers the standard interfaces, checks the calls of methods, and announces what
/// changes. Some users may see other objects than all: these are announced to the connections of such a user alone, once those have called.
package final class BusObjects {
  /// The properties of an object, by interface.
  package typealias Object = [String: [String: BusArgument]]

  private let bus: SystemBus
  private let root: String
  private let declared: [String: BusInterface]
  private let managesObjects: Bool
  /// By path: those that all see.
  private var objects: [String: Object] = [:]
  /// Those that some users see in place of these, by their numbers.
  private var views: [UInt32: [String: Object]] = [:]
  private var readers = BusReaders()
  /// Finds the user of a connection; `nil`: all users see the same. Every caller's user is asked for, so that no answer's time tells
  /// whether others see more.
  package var identify: ((_ sender: String, _ then: @escaping (UInt32?) -> Void) -> Void)?
  /// Whether a caller's call is answered; otherwise it gets an error at once.
  package var admits: (_ sender: String) -> Bool = { _ in true }
  /// Called for each call of a declared method with arguments of the right types, to an object that has the interface.
  package var called: (BusCall) -> Void = { _ in }

  /// `root`: the path of the topmost object. `managesObjects`: it has the interface org.freedesktop.DBus.ObjectManager.
  package init(_ bus: SystemBus, root: String, interfaces: [BusInterface], managesObjects: Bool = true) {
    self.bus = bus
    self.root = root
    self.managesObjects = managesObjects
    declared = Dictionary(uniqueKeysWithValues: (interfaces + BusInterface.standard + [.objectManager]).map { ($0.name, $0) })
  }

  /// Answers calls on the present connection.
  package func export() {
    readers.removeAll()
    bus.answer(below: root) { [weak self] in self?.receive($0) }
  }

  /// The objects that a caller sees.
  package func visible(to sender: String) -> [String: Object] { readers.user(of: sender).flatMap { views[$0] } ?? objects }

  /// The objects as they are from now on. Differences are announced. `views`: what some users see in their place.
  package func update(_ new: [String: Object], for views: [UInt32: [String: Object]] = [:]) {
    let (old, before) = (objects, self.views)
    (objects, self.views) = (new, views)
    announce(new, after: old, to: nil)
    for user in Set(before.keys).union(views.keys).sorted() {
      let known = Self.known(before[user] ?? old, told: new, after: old)
      for reader in readers.connections(of: user) { announce(views[user] ?? new, after: known, to: reader) }
    }
  }

  /// Emits a signal to all who listen, or to the connections of these users that have called.
  package func emit(_ path: String, _ interface: String, _ member: String, _ arguments: [BusArgument], to users: Set<UInt32>? = nil) {
    guard let users else { return bus.emit(path, interface, member, arguments) }
    for reader in users.sorted().flatMap(readers.connections) { bus.emit(path, interface, member, arguments, to: reader) }
  }

  /// The objects that a connection knows of, which saw `seen` and then heard what all were told.
  private static func known(_ seen: [String: Object], told new: [String: Object], after old: [String: Object]) -> [String: Object] {
    var known = seen
    for path in Set(old.keys).union(new.keys) where old[path] != new[path] {
      guard let object = new[path], old[path] != nil, known[path] != nil else {
        known[path] = new[path]
        continue
      }
      for (interface, properties) in object {
        for (name, value) in properties where old[path]?[interface]?[name] != value { known[path]?[interface]?[name] = value }
      }
    }
    return known
  }

  private func announce(_ new: [String: Object], after old: [String: Object], to reader: String?) {
    for path in old.keys.sorted() where new[path] == nil && managesObjects {
      bus.emit(
        root, BusInterface.objectManager.name, "InterfacesRemoved", [.path(path), .strings(old[path]?.keys.sorted() ?? [])], to: reader)
    }
    for (path, object) in new.sorted(by: { $0.key < $1.key }) {
      guard let before = old[path] else {
        if managesObjects {
          bus.emit(root, BusInterface.objectManager.name, "InterfacesAdded", [.path(path), Self.content(of: object)], to: reader)
        }
        continue
      }
      for (interface, properties) in object.sorted(by: { $0.key < $1.key }) {
        let changed = properties.filter { before[interface]?[$0.key] != $0.value }
        guard !changed.isEmpty else { continue }
        bus.emit(
          path, "org.freedesktop.DBus.Properties", "PropertiesChanged", [.string(interface), .properties(changed), .strings([])],
          to: reader)
      }
    }
  }

  private static func content(of object: Object) -> BusArgument {
    .array(of: "{sa{sv}}", object.sorted { $0.key < $1.key }.map { .entry(.string($0.key), .properties($0.value)) })
  }

  // MARK: Calls

  private static func error(_ name: String) -> String { "org.freedesktop.DBus.Error.\(name)" }

  private func receive(_ call: BusCall) {
    guard admits(call.sender) else { return call.fail(Self.error("LimitsExceeded"), "too many calls; try again in a second") }
    guard let identify, readers.user(of: call.sender) == nil else { return answer(call) }
    switch readers.wait(call) {
    case .full: call.fail(Self.error("LimitsExceeded"), "too many calls wait for an answer; try again later")
    case .later: break
    case .first:
      identify(call.sender) { [weak self] user in
        guard let self else { return }
        for call in readers.take(call.sender, user) { answer(call) }
      }
    }
  }

  private func answer(_ call: BusCall) {
    let objects = visible(to: call.sender)
    guard let object = objects[call.path] else {
      // A folder of objects can be introspected, so that tools find these.
      if Self.isFolder(call.path, of: objects), call.interface == "org.freedesktop.DBus.Introspectable" || call.interface.isEmpty,
        call.member == "Introspect"
      {
        return call.reply(.string(Self.introspection(of: call.path, [], objects)))
      }
      return call.fail(Self.error("UnknownObject"), "there is no object \(call.path)")
    }
    let own = interfaces(of: call.path, object)
    let candidates = call.interface.isEmpty ? own : own.filter { $0.name == call.interface }
    guard !candidates.isEmpty else { return call.fail(Self.error("UnknownInterface"), "\(call.path) has no interface \(call.interface)") }
    for interface in candidates {
      guard let method = interface.methods.first(where: { $0.name == call.member }) else { continue }
      let signature = method.arguments.map(\.type).joined()
      guard call.signature == signature else {
        return call.fail(Self.error("InvalidArgs"), "\(call.member) takes (\(signature)), not (\(call.signature))")
      }
      return carryOut(call, of: interface.name, on: object, among: objects)
    }
    call.fail(Self.error("UnknownMethod"), "\(call.path) has no method \(call.member)")
  }

  private func interfaces(of path: String, _ object: Object) -> [BusInterface] {
    object.keys.sorted().compactMap { declared[$0] } + BusInterface.standard + (path == root && managesObjects ? [.objectManager] : [])
  }

  private func carryOut(_ call: BusCall, of interface: String, on object: Object, among objects: [String: Object]) {
    switch (interface, call.member) {
    case ("org.freedesktop.DBus.Introspectable", _):
      call.reply(.string(Self.introspection(of: call.path, interfaces(of: call.path, object), objects)))
    case ("org.freedesktop.DBus.ObjectManager", _):
      call.reply(
        .array(
          of: "{oa{sa{sv}}}",
          objects.filter { $0.key != root }.sorted { $0.key < $1.key }.map { .entry(.path($0.key), Self.content(of: $0.value)) }))
    case ("org.freedesktop.DBus.Properties", "Get"):
      let (name, property) = (call.values[0].text ?? "", call.values[1].text ?? "")
      guard let value = object[name]?[property] else {
        return call.fail(Self.error("UnknownProperty"), "\(call.path) has no property \(property) of \(name)")
      }
      call.reply(.variant(value))
    case ("org.freedesktop.DBus.Properties", "GetAll"): call.reply(.properties(object[call.values[0].text ?? ""] ?? [:]))
    case ("org.freedesktop.DBus.Properties", _): call.fail(Self.error("PropertyReadOnly"), "properties are changed by methods only")
    default: called(call)
    }
  }

  private static func isFolder(_ path: String, of objects: [String: Object]) -> Bool { objects.keys.contains { $0.hasPrefix(path + "/") } }

  private static func introspection(of path: String, _ interfaces: [BusInterface], _ objects: [String: Object]) -> String {
    let children = Set(
      objects.keys.compactMap { $0.hasPrefix(path + "/") ? $0.dropFirst(path.count + 1).split(separator: "/").first.map(String.init) : nil }
    )
    return """
      <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
       "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
      <node>

      """ + interfaces.map(\.introspection).joined() + children.sorted().map { "  <node name=\"\($0)\"/>\n" }.joined() + "</node>\n"
  }
}
