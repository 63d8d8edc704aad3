/// The effect of requests in words: for each object the old and the new state, and whom it concerns.
package struct ChangeSummary: Hashable, Sendable {
  /// One thing that is said of an object.
  package struct Line: Hashable, Sendable {
    /// `settings of everybody`.
    package let subject: String
    /// `routes`; empty: the object itself.
    package let title: String
    /// `nil`: it is added.
    package let before: String?
    /// `nil`: it is removed.
    package let after: String?
  }

  package private(set) var lines: [Line]
  /// The names of the users whose access, settings, groups or logins differ, or those of their devices; sorted.
  package let users: [GatewayName]
  /// The devices for which something differs, by their paths.
  package let devices: [Device]
  package let paths: [DevicePath]

  /// `changes`: those that made `new` of `old`.
  package init(_ changes: [RowChange], from old: Directory, to new: Directory) {
    lines = Self.lines(changes, old, new)
    let concerned = Concerned(changes, old, new)
    let found = concerned.devices.compactMap { id in
      new.devices[id].flatMap { device in new.path(of: device).map { ($0, device) } }
        ?? old.devices[id].flatMap { device in old.path(of: device).map { ($0, device) } }
    }.sorted { $0.0 < $1.0 }
    (devices, paths) = (found.map(\.1), found.map(\.0))
    users = concerned.users.compactMap { (new.users[$0] ?? old.users[$0])?.name }.sorted()
  }

  /// Of all requests so far.
  package init(_ work: Administration) { self.init(work.changes, from: work.before, to: work.directory) }

  package var isEmpty: Bool { lines.isEmpty }

  /// The difference without the order in which the rows were changed.
  private static func lines(_ changes: [RowChange], _ old: Directory, _ new: Directory) -> [Line] {
    var touched: [RowKind: Set<Int64>] = [:]
    for change in changes { touched[change.kind, default: []].insert(change.id) }
    var lines: [Line] = []
    for kind in RowKind.order {
      let pairs = touched[kind, default: []].sorted().map { (old.row(kind, $0), new.row(kind, $0)) }
      lines += pairs.flatMap { Self.lines($0, old, $1, new) }.sorted { $0.subject < $1.subject }
      if kind == .rules, let line = orderLine(old, new) { lines.append(line) }
    }
    return lines
  }

  private static func lines(_ before: AnyRow?, _ old: Directory, _ after: AnyRow?, _ new: Directory) -> [Line] {
    let (a, b) = (before.flatMap { RowText($0, in: old) }, after.flatMap { RowText($0, in: new) })
    guard let subject = (b ?? a)?.subject else { return [] }
    let (was, becomes) = (a?.parts ?? [], b?.parts ?? [])
    var lines: [Line] = []
    if let a, let b, a.subject != b.subject { lines.append(Line(subject: a.subject, title: "name", before: a.name, after: b.name)) }
    for title in was.map(\.title) + becomes.map(\.title).filter({ title in !was.contains { $0.title == title } }) {
      let (x, y) = (was.first { $0.title == title }?.text, becomes.first { $0.title == title }?.text)
      if x != y { lines.append(Line(subject: subject, title: title, before: x, after: y)) }
    }
    if let before, let after {
      lines += before.replaced(by: after).map { Line(subject: subject, title: $0, before: "the present one", after: "another one") }
    }
    return lines
  }

  /// The order of the rules that both have, where it differs.
  private static func orderLine(_ old: Directory, _ new: Directory) -> Line? {
    let (was, becomes) = (
      old.sortedRules.filter { new.rules[$0.id] != nil }.map(\.id), new.sortedRules.filter { old.rules[$0.id] != nil }.map(\.id)
    )
    guard was != becomes else { return nil }
    func names(_ ids: [Int64], _ directory: Directory) -> String {
      ids.compactMap { directory.rules[$0]?.name.description }.joined(separator: ", ")
    }
    return Line(subject: "rules", title: "order", before: names(was, old), after: names(becomes, new))
  }
}

extension ChangeSummary.Line {
  /// `change settings of everybody: routes 10.20.0.0/16 → 10.20.0.0/16, 10.30.0.0/16`.
  package var text: String { "\(verb) \(object)" }

  /// The same, with the objects of several lines in a column.
  var column: String { "\(verb)\(String(repeating: " ", count: 8 - verb.count))\(object)" }

  private var verb: String { before == nil ? "add" : after == nil ? "remove" : "change" }

  private var object: String {
    func words(_ value: String) -> String { [title, value].filter { !$0.isEmpty }.joined(separator: " ") }
    let values = [before, after].compactMap { $0 }.joined(separator: " → ")
    return "\(subject): \(words(values))"
  }
}

extension ChangeSummary {
  /// Several changes as one.
  package init(joining parts: [ChangeSummary]) {
    lines = parts.flatMap(\.lines)
    users = Set(parts.flatMap(\.users)).sorted()
    let found = Dictionary(parts.flatMap { zip($0.paths, $0.devices) }) { first, _ in first }.sorted { $0.key < $1.key }
    (devices, paths) = (found.map(\.value), found.map(\.key))
  }

  /// The difference between two texts of settings that have a line for each value, as `port 80`. `nil`: there is none. It concerns no user
  /// in particular.
  package init(setting subject: String, from old: String?, to new: String?) {
    let (was, becomes) = (Self.values(old), Self.values(new))
    lines = Set(was.keys).union(becomes.keys).sorted().compactMap { title in
      was[title] == becomes[title] ? nil : Line(subject: subject, title: title, before: was[title], after: becomes[title])
    }
    (users, devices, paths) = ([], [], [])
  }

  private static func values(_ text: String?) -> [String: String] {
    // A line end of two characters is one; a line may be blanks alone.
    (text ?? "").split(whereSeparator: \.isNewline).reduce(into: [:]) { values, line in
      let words = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let (title, value) = words.count == 2 ? (words[0], words[1]) : ("", words[0])
      values[title] = [values[title], value].compactMap { $0 }.joined(separator: ", ")
    }
  }

  /// The lines for a person; `connected`: how many of the devices are, `nil`: not known.
  package func text(connected: Int?) -> [String] {
    if isEmpty { return ["nothing changes"] }
    return lines.map(\.column) + (concernText(connected: connected).map { ["concerns \($0)"] } ?? [])
  }

  /// `nil`: no user in particular.
  private func concernText(connected: Int?) -> String? {
    if users.isEmpty { return nil }
    let people = users.count == 1 ? "\(users[0])" : "\(users.count) users"
    if devices.isEmpty { return people }
    let state = connected.map { devices.count == 1 ? ($0 == 1 ? ", connected" : ", not connected") : ", \($0) connected" }
    return "\(people), \(devices.count) device\(devices.count == 1 ? "" : "s")\(state ?? "")"
  }
}

/// The users and devices for which something differs, by their numbers.
private struct Concerned {
  var users: Set<Int64> = []
  var devices: Set<Int64> = []

  init(_ changes: [RowChange], _ old: Directory, _ new: Directory) {
    for directory in [old, new] {
      for change in changes { if let row = directory.row(change.kind, change.id) { add(row, in: directory) } }
    }
    addSettings(ChangeReach(ofSettings: changes, in: old).union(ChangeReach(ofSettings: changes, in: new)), old, new)
    for id in devices { if let user = (new.devices[id] ?? old.devices[id])?.user { users.insert(user) } }
  }

  private mutating func add(_ row: AnyRow, in directory: Directory) {
    switch row {
    case .user(let user): add(user.id, in: directory)
    case .member(let member): add(member.user, in: directory)
    case .device(let device): devices.insert(device.id)
    case .lease(let lease): if let device = lease.device { devices.insert(device) }
    case .login(let login): devices.insert(login.device)
    case .rule(let rule): for user in directory.users.keys where rule.concerns(user: user, in: directory) { add(user, in: directory) }
    case .site, .pool: devices.formUnion(directory.devices.keys)
    case .credential(let credential): users.insert(credential.user)
    case .token(let token): users.insert(token.user)
    // By their members, rules, and what devices get by them.
    case .group, .settings, .declaration: break
    }
  }

  private mutating func add(_ user: Int64, in directory: Directory) {
    users.insert(user)
    devices.formUnion(directory.devices(of: user).map(\.id))
  }

  /// Of those that the changes can reach: the devices that get other settings, and the users with another limit.
  private mutating func addSettings(_ reach: ChangeReach, _ old: Directory, _ new: Directory) {
    let reached: Set<Int64> =
      switch reach {
      case .devices(let ids): ids
      case .everything: Set(new.devices.keys)
      }
    for id in reached {
      guard let before = old.devices[id], let after = new.devices[id] else { continue }
      if old.pushedSettings(of: before) != new.pushedSettings(of: after) { devices.insert(id) }
    }
    guard old.settings != new.settings else { return }
    for user in new.users.keys where old.users[user] != nil && old.deviceLimit(of: user) != new.deviceLimit(of: user) { users.insert(user) }
  }
}
