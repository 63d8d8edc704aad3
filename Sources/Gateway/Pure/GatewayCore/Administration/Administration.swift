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

// The gateway itself, and its pools.
extension Administration {
  /// Adds a pool. `isEverywhere`: its addresses are at all gateways, otherwise at this one.
  package mutating func addPool(
    _ name: GatewayName, _ prefix: IPPrefix, isTranslated: Bool, isEverywhere: Bool = false
  ) throws(GatewayError) {
    directory.requireAll()
    try refuseDeclared(.pools)
    if directory.pool(named: name) != nil { throw GatewayError("there is a pool \(name) already", help: "choose another name") }
    let lengths = Pool.lengths(of: prefix.family)
    guard lengths.contains(prefix.length) else {
      throw GatewayError(
        "a pool of \(prefix) is not possible", help: "the length of its prefix has to be \(lengths.lowerBound) to \(lengths.upperBound)")
    }
    guard !prefix.address.isMulticast, !prefix.address.isLoopback, !prefix.address.isLinkLocal else {
      throw GatewayError("\(prefix) has no addresses for devices", help: "use a private prefix, such as 10.77.0.0/24 or fd77::/64")
    }
    if let other = directory.pools.values.first(where: { $0.prefix.overlaps(prefix) }) {
      throw GatewayError("\(prefix) overlaps with pool \(other.name) (\(other.prefix))", help: "choose another prefix")
    }
    let pool = Pool(
      id: newID(), name: name, prefix: prefix, isTranslated: isTranslated, site: isEverywhere ? nil : directory.site?.id)
    put(.pool(pool))
    record("pool add", name, "\(prefix)\(isTranslated ? ", masquerade" : "")")
    for device in directory.devices.values.sorted(by: { $0.id < $1.id }) { try grant(pool, to: device) }
  }

  package mutating func removePool(_ name: GatewayName) throws(GatewayError) {
    directory.requireAll()
    try refuseDeclared(.pools)
    guard let pool = directory.pool(named: name) else {
      throw GatewayError("there is no pool \(name)", help: "`roamward-gateway store show` lists the pools")
    }
    drop(pool)
    record("pool remove", name, pool.prefix.description)
  }

  mutating func drop(_ pool: Pool) {
    for lease in directory.leases.values.filter({ $0.pool == pool.id }).sorted(by: { $0.id < $1.id }) { remove(.leases, lease.id) }
    remove(.pools, pool.id)
  }
}

// Users and groups.
extension Administration {
  package mutating func addUser(_ name: GatewayName, until: Timestamp? = nil) throws(GatewayError) {
    if directory.user(named: name) != nil { throw GatewayError("there is a user \(name) already", help: "choose another name") }
    if let until, until <= now { throw GatewayError("the end of the account of \(name) is in the past", help: "choose a later time") }
    put(.user(User(id: newID(), name: name, until: until)))
    record("user add", name)
  }

  /// Locks or unlocks the user. A locked user's devices are refused, and keep their addresses.
  /// `reason`: for the audit log.
  package mutating func setLocked(_ isLocked: Bool, _ name: GatewayName, reason: String = "") throws(GatewayError) {
    var user = try user(name)
    if user.isLocked == isLocked { return }
    user.isLocked = isLocked
    put(.user(user))
    record(isLocked ? "user lock" : "user unlock", name, reason)
  }

  /// Removes the user, with devices, settings and rules of this user alone.
  package mutating func removeUser(_ name: GatewayName) throws(GatewayError) {
    let user = try user(name)
    try refuseDeclared(.user, name.description)
    for device in directory.devices(of: user.id) { drop(device, of: user) }
    for member in directory.members.values.filter({ $0.user == user.id }).sorted(by: { $0.id < $1.id }) { remove(.members, member.id) }
    removeSettings(for: .user(user.id))
    for rule in directory.sortedRules where rule.source == .user(user.id) { remove(.rules, rule.id) }
    if let credential = directory.credential(of: user.id) { remove(.credentials, credential.id) }
    for token in directory.tokens.values.filter({ $0.user == user.id }).sorted(by: { $0.id < $1.id }) { remove(.tokens, token.id) }
    remove(.users, user.id)
    record("user remove", name)
  }

  package mutating func addGroup(_ name: GatewayName, precedence: Int64 = 100) throws(GatewayError) {
    if directory.group(named: name) != nil { throw GatewayError("there is a group \(name) already", help: "choose another name") }
    put(.group(Group(id: newID(), name: name, precedence: precedence)))
    record("group add", name, "precedence \(precedence)")
  }

  /// Removes a group that no rule of access names: without the group, such a rule would match other packets.
  package mutating func removeGroup(_ name: GatewayName) throws(GatewayError) {
    directory.requireAll()
    let group = try group(name)
    try refuseDeclared(.group, name.description)
    let rules = directory.sortedRules.filter { $0.source == .group(group.id) || $0.destination == .devices(ofGroup: group.id) }
    guard rules.isEmpty else {
      throw GatewayError(
        "rules of access name group \(name): \(rules.map(\.name.description).joined(separator: ", "))",
        help: "remove them first, with `roamward-gateway access remove`")
    }
    for member in directory.members.values.filter({ $0.group == group.id }).sorted(by: { $0.id < $1.id }) { remove(.members, member.id) }
    removeSettings(for: .group(group.id))
    remove(.groups, group.id)
    record("group remove", name)
  }

  package mutating func setMember(_ isMember: Bool, _ userName: GatewayName, of groupName: GatewayName) throws(GatewayError) {
    let user = try user(userName)
    let group = try group(groupName)
    try refuseDeclared(.members, groupName.description)
    // Most are as they should be, of thousands that a file has.
    if directory.isMember(user.id, of: group.id) == isMember { return }
    if isMember {
      put(.member(Membership(id: newID(), user: user.id, group: group.id)))
    } else if let present = directory.members.values.first(where: { $0.user == user.id && $0.group == group.id }) {
      remove(.members, present.id)
    }
    record(isMember ? "group join" : "group leave", groupName, "user \(userName)")
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
