import NetworkTypes

extension Directory {
  /// References to rows that do not exist, and leases outside of their pools; none unless the store was changed by hand.
  package var inconsistencies: [String] {
    var found: [String] = []
    for member in members.values where users[member.user] == nil || groups[member.group] == nil {
      found.append("membership \(member.id) names a user or a group that does not exist")
    }
    for device in devices.values where users[device.user] == nil {
      found.append("device \(device.name) (\(device.id)) belongs to no user")
    }
    for pool in pools.values where pool.site.map({ sites[$0] == nil }) ?? false { found.append("pool \(pool.name) belongs to no gateway") }
    for lease in leases.values {
      if pools[lease.pool]?.place(of: lease.address) == nil { found.append("lease \(lease.address) lies outside of its pool") }
      if let device = lease.device, devices[device] == nil { found.append("lease \(lease.address) belongs to no device") }
    }
    for credential in credentials.values where users[credential.user] == nil {
      found.append("credential \(credential.id) belongs to no user")
    }
    for token in tokens.values where users[token.user] == nil { found.append("token \(token.id) belongs to no user") }
    for login in logins.values where devices[login.device] == nil { found.append("login \(login.id) belongs to no device") }
    for rule in rules.values {
      let isComplete =
        switch rule.source {
        case .everybody: true
        case .user(let id): users[id] != nil
        case .group(let id): groups[id] != nil
        }
      var hasDestination = true
      if case .devices(let group) = rule.destination { hasDestination = groups[group] != nil }
      if !isComplete || !hasDestination { found.append("rule \(rule.name) names a user or a group that does not exist") }
    }
    return found.sorted()
  }
}
