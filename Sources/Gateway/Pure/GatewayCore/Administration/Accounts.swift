package import NetworkTypes

/// Changes of users and groups that are there.
package enum Accounts {
  /// `until`: the end of the account; `nil`: it has none.
  package static func setEnd(_ until: Timestamp?, of name: GatewayName, in work: inout Administration) throws(GatewayError) {
    var user = try work.user(name)
    try work.refuseDeclared(.user, name.description)
    if user.until == until { return }
    user.until = until
    work.put(.user(user))
    work.record("user set", name, until.map { "until \($0)" } ?? "without an end")
  }

  package static func setPrecedence(_ precedence: Int64, of name: GatewayName, in work: inout Administration) throws(GatewayError) {
    var group = try work.group(name)
    try work.refuseDeclared(.group, name.description)
    if group.precedence == precedence { return }
    group.precedence = precedence
    work.put(.group(group))
    work.record("group set", name, "precedence \(precedence)")
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
