import NetworkTypes

/// The rows that a trial of files has changed, with their values before and after it.
package struct Reversal: Hashable, Sendable {
  /// A row of both states.
  package struct Entry: Hashable, Sendable {
    package let kind: RowKind
    package let id: Int64
    /// `nil`: the trial has added the row.
    package let before: AnyRow?
    /// `nil`: the trial has removed the row.
    package let after: AnyRow?

    package init(_ kind: RowKind, _ id: Int64, before: AnyRow?, after: AnyRow?) {
      (self.kind, self.id, self.before, self.after) = (kind, id, before, after)
    }
  }

  package let entries: [Entry]

  package init(_ entries: [Entry]) { self.entries = entries }

  /// Of all requests so far.
  package init(_ work: Administration) {
    let old = work.before
    var touched: [RowKind: Set<Int64>] = [:]
    for change in work.changes { touched[change.kind, default: []].insert(change.id) }
    entries = RowKind.allCases.flatMap { kind in
      touched[kind, default: []].sorted().compactMap { id in
        let entry = Entry(kind, id, before: old.row(kind, id), after: work.directory.row(kind, id))
        return entry.before == entry.after ? nil : entry
      }
    }
  }

  /// Makes these rows what they were. A row that has changed since stays as it is, and so does what can no longer be as it was, because its
  /// name, its addresses or what it belongs to are gone. A user whom the trial has added, and who has devices by now, is locked.
  package func carryOut(in work: inout Administration) throws(GatewayError) {
    work.directory.requireAll()
    work.isDeclaring = true
    defer { work.isDeclaring = false }
    let ours = entries.filter { work.directory.row($0.kind, $0.id) == $0.after }
    // From what is within to what is around.
    for kind in RowKind.order.reversed() {
      for entry in ours where entry.kind == kind && entry.before == nil { try Self.remove(entry, &work) }
    }
    for kind in RowKind.order {
      for entry in ours where entry.kind == kind {
        if let row = entry.before, Surroundings(directory: work.directory).hasPlace(for: row) { work.put(row) }
      }
    }
    Self.grantMissing(ours, &work)
    if !work.changes.isEmpty { work.record("files revert", "trial", "\(ours.count) of \(entries.count) rows") }
  }

  private static func remove(_ entry: Entry, _ work: inout Administration) throws(GatewayError) {
    switch entry.after {
    case .user(let user):
      if work.directory.devices(of: user.id).isEmpty { return try work.removeUser(user.name) }
      try work.setLocked(true, user.name, reason: "declared on trial alone")
    case .group(let group):
      for rule in work.directory.sortedRules where rule.names(group: group.id) { work.remove(.rules, rule.id) }
      try work.removeGroup(group.name)
    case .pool(let pool): work.drop(pool)
    case nil: break
    default: if work.directory.row(entry.kind, entry.id) != nil { work.remove(entry.kind, entry.id) }
    }
  }

  /// Devices that came during the trial have no addresses of a pool that was not there. In a full one, they get none: that keeps nothing
  /// else from being as it was.
  private static func grantMissing(_ entries: [Entry], _ work: inout Administration) {
    for case .pool(let pool) in entries.compactMap(\.before) where work.directory.pools[pool.id] == pool {
      let holders = Set(work.directory.leases.values.filter { $0.pool == pool.id }.compactMap(\.device))
      for device in work.directory.devices.values.sorted(by: { $0.id < $1.id }) where !holders.contains(device.id) {
        do throws(GatewayError) { try work.grant(pool, to: device) } catch { work.record("files revert", device.name, error.text) }
      }
    }
  }
}

extension AccessRule {
  fileprivate func names(group id: Int64) -> Bool { source == .group(id) || destination == .devices(ofGroup: id) }
}

/// The rows among which one of an earlier moment is to be again.
private struct Surroundings {
  let directory: Directory

  /// Whether all that the row names is there, and nothing else has its name or address.
  func hasPlace(for row: AnyRow) -> Bool {
    func isFree(_ other: Int64?) -> Bool { other == nil || other == row.id }
    switch row {
    case .site: return directory.sites[row.id] != nil
    case .user(let user): return isFree(directory.user(named: user.name)?.id)
    case .group(let group): return isFree(directory.group(named: group.name)?.id)
    case .member(let member):
      return directory.users[member.user] != nil && directory.groups[member.group] != nil
        && (directory.members[row.id] != nil || !directory.isMember(member.user, of: member.group))
    case .device(let device): return directory.users[device.user] != nil && directory.devices[row.id] != nil
    case .pool(let pool):
      return isFree(directory.pool(named: pool.name)?.id) && pool.site.map { directory.sites[$0] != nil } ?? true
        && !directory.pools.values.contains { $0.id != row.id && $0.prefix.overlaps(pool.prefix) }
    case .lease(let lease):
      return directory.pools[lease.pool]?.place(of: lease.address) != nil && lease.device.map { directory.devices[$0] != nil } ?? true
        && isFree(directory.lease(of: lease.address)?.id)
    case .settings(let settings): return isFree(directory.settings(for: settings.scope)?.id) && has(settings.scope)
    case .rule(let rule): return isFree(directory.rule(named: rule.name)?.id) && names(of: rule)
    case .credential(let credential): return directory.users[credential.user] != nil
    case .token(let token): return directory.users[token.user] != nil
    case .login(let login): return directory.devices[login.device] != nil
    case .declaration(let mark):
      return directory.sites[mark.site] != nil
        && !directory.marks.marks(of: mark.subject).contains { $0.site == mark.site && $0.id != mark.id }
    }
  }

  private func has(_ scope: Settings.Scope) -> Bool {
    switch scope {
    case .everybody: true
    case .group(let id): directory.groups[id] != nil
    case .user(let id): directory.users[id] != nil
    case .device(let id): directory.devices[id] != nil
    }
  }

  /// Whether the users and groups of a rule are there.
  private func names(of rule: AccessRule) -> Bool {
    let hasSource =
      switch rule.source {
      case .everybody: true
      case .user(let id): directory.users[id] != nil
      case .group(let id): directory.groups[id] != nil
      }
    guard case .devices(let group) = rule.destination else { return hasSource }
    return hasSource && directory.groups[group] != nil
  }
}
