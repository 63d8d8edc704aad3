package import NetworkTypes

/// The requests of one transaction: each one changes the directory, and records the changed rows and an entry of the audit log. A refused
/// request changes nothing.
package struct Administration: Sendable {
  package private(set) var directory: Directory
  /// The changed rows, in the order of the changes.
  package private(set) var changes: [RowChange] = []
  /// The reverse of each change, in the same order: `undo` applies them from the last to the first.
  private var reverses: [RowChange] = []
  package private(set) var records: [AuditEntry.Record] = []
  /// The highest number of a row so far, of all tables. No number is used twice.
  package private(set) var lastID: Int64
  package var now: Timestamp
  private let actor: String
  /// Whether requests carry out what files declare (`converge`), which no other request changes.
  var isDeclaring = false

  package init(_ directory: consuming Directory, lastID: Int64, actor: String, now: Timestamp) {
    self.directory = directory
    self.lastID = lastID
    self.actor = actor
    self.now = now
  }

  mutating func put(_ row: AnyRow) { make(.put(row)) }

  mutating func remove(_ kind: RowKind, _ id: Int64) { make(.remove(kind, id)) }

  private mutating func make(_ change: RowChange) {
    reverses.append(directory.row(change.kind, change.id).map { .put($0) } ?? .remove(change.kind, change.id))
    directory.apply(change)
    changes.append(change)
  }

  /// Makes the directory what it was, and forgets the changes. It costs as much as they did: nobody needs a copy from before.
  package mutating func undo() {
    for reverse in reverses.reversed() { directory.apply(reverse) }
    (changes, reverses, records) = ([], [], [])
  }

  /// The directory without the requests so far: a copy of what they changed.
  var before: Directory {
    var before = directory
    for reverse in reverses.reversed() { before.apply(reverse) }
    return before
  }

  mutating func newID() -> Int64 {
    lastID += 1
    return lastID
  }

  mutating func record(_ verb: String, _ object: some CustomStringConvertible, _ detail: String = "") {
    records.append(AuditEntry.Record(actor: actor, verb: verb, object: object.description, detail: detail))
  }
}

// Finding what a request names, and what it must leave to files.
extension Administration {
  package func user(_ name: GatewayName) throws(GatewayError) -> User {
    guard let user = directory.user(named: name) else { throw GatewayError.noUser(name) }
    return user
  }

  package func group(_ name: GatewayName) throws(GatewayError) -> Group {
    guard let group = directory.group(named: name) else {
      throw GatewayError("there is no group \(name)", help: "`roamward-gateway group list` lists the groups")
    }
    return group
  }

  package func device(_ path: DevicePath) throws(GatewayError) -> Device {
    guard let device = directory.device(at: path) else {
      throw GatewayError("there is no device \(path)", help: "`roamward-gateway device list` lists the devices")
    }
    return device
  }
}

extension Administration {
  /// Throws if a file declares the subject: it is changed there.
  func refuseDeclared(_ kind: DeclaredSubject.Kind, _ name: String = "") throws(GatewayError) {
    let subject = DeclaredSubject(kind, name)
    if !isDeclaring, let refusal = directory.marks.refusal(of: subject, at: directory.site?.id) { throw refusal }
  }
}

// Settings.
extension Administration {
  /// Changes the settings that are given, and keeps the others. `deviceLimit`: of each user in the scope.
  package mutating func change(
    _ pushed: PushedSettings, deviceLimit: Int64? = nil, for scope: Settings.Scope, named name: String
  ) throws(GatewayError) {
    if let mtu = pushed.mtu, !(1280...9000).contains(mtu) {
      throw GatewayError("an MTU of \(mtu) is not possible", help: "use 1280 to 9000; 1420 suits most networks")
    }
    if let deviceLimit {
      guard Settings.deviceLimits.contains(deviceLimit) else {
        throw GatewayError("a limit of \(deviceLimit) devices is not possible", help: "use 0 to \(Settings.deviceLimits.upperBound)")
      }
      if case .device = scope { throw GatewayError("a device has no devices", help: "limit them for a user, a group or everybody") }
    }
    try refuseDeclared(.settings, name)
    let present = directory.settings(for: scope)
    let settings = Settings(
      id: present?.id ?? newID(), scope: scope, pushed: pushed.completed(by: present?.pushed ?? PushedSettings()),
      deviceLimit: deviceLimit ?? present?.deviceLimit)
    put(.settings(settings))
    record("settings set", name, settings.text.split(separator: "\n").joined(separator: "; "))
  }

  package mutating func clearSettings(for scope: Settings.Scope, named name: String) throws(GatewayError) {
    try refuseDeclared(.settings, name)
    if removeSettings(for: scope) { record("settings clear", name) }
  }

  @discardableResult mutating func removeSettings(for scope: Settings.Scope) -> Bool {
    directory.settings(for: scope).map { remove(.settings, $0.id) } != nil
  }
}
