package import KernelModel
package import NetworkTypes

/// Everything that a gateway knows of its users, devices, addresses and rules, as it is in the store. A value: `apply` is the only change.
package struct Directory: Hashable, Sendable {
  /// Whether no row is missing (`Excerpt`).
  package let isWhole: Bool
  /// The key of the gateway that reads: which one of several it is. `nil`: not known.
  package let viewpoint: WireGuardKey?
  package private(set) var sites: [Int64: Site] = [:]
  package private(set) var users: [Int64: User] = [:]
  package private(set) var groups: [Int64: Group] = [:]
  package private(set) var members: [Int64: Membership] = [:]
  package private(set) var devices: [Int64: Device] = [:]
  package private(set) var pools: [Int64: Pool] = [:]
  package private(set) var leases: [Int64: Lease] = [:]
  package private(set) var settings: [Int64: Settings] = [:]
  package private(set) var rules: [Int64: AccessRule] = [:]
  package private(set) var credentials: [Int64: Credential] = [:]
  package private(set) var tokens: [Int64: EnrolmentToken] = [:]
  package private(set) var logins: [Int64: Login] = [:]
  package private(set) var marks = DeclaredMarks()

  // Indexes, kept by `apply`.
  private var userIDs: [GatewayName: Int64] = [:]
  private var groupIDs: [GatewayName: Int64] = [:]
  private var deviceIDs: [WireGuardKey: Int64] = [:]
  private var leaseIDs: [IPAddress: Int64] = [:]
  private var ofUsers = UserIndex()
  private var leasesOfDevices: [Int64: Set<Int64>] = [:]
  private var credentialsOfUsers: [Int64: Int64] = [:]
  private var tokenIDs: [[UInt8]: Int64] = [:]
  private var loginsOfDevices: [Int64: Int64] = [:]
  private var settingsOfScopes: [Settings.Scope: Int64] = [:]
  private var ownPools: Set<Int64> = []

  package init(isWhole: Bool = true, viewpoint: WireGuardKey? = nil) {
    self.isWhole = isWhole
    self.viewpoint = viewpoint
  }

  /// The rows of all users, for what cannot do with an excerpt.
  func requireAll() { precondition(isWhole, "a request that needs all rows was given an excerpt") }

  package mutating func apply(_ change: RowChange) {
    switch change {
    case .put(let row):
      remove(row.kind, row.id)
      put(row)
    case .remove(let kind, let id): remove(kind, id)
    }
  }

  private mutating func put(_ row: AnyRow) {
    switch row {
    case .site(let site):
      sites[site.id] = site
      findOwnPools()
    case .user(let user):
      users[user.id] = user
      userIDs[user.name] = user.id
    case .group(let group):
      groups[group.id] = group
      groupIDs[group.name] = group.id
    case .member(let member):
      members[member.id] = member
      ofUsers.groups[member.user, default: []].insert(member.group)
    case .device(let device):
      devices[device.id] = device
      deviceIDs[device.publicKey] = device.id
      ofUsers.devices[device.user, default: []].insert(device.id)
    case .pool(let pool):
      pools[pool.id] = pool
      findOwnPools()
    case .lease(let lease):
      leases[lease.id] = lease
      leaseIDs[lease.address] = lease.id
      if let device = lease.device { leasesOfDevices[device, default: []].insert(lease.id) }
    case .settings(let row):
      settings[row.id] = row
      settingsOfScopes[row.scope] = row.id
    case .rule(let rule): rules[rule.id] = rule
    case .credential(let credential):
      credentials[credential.id] = credential
      credentialsOfUsers[credential.user] = credential.id
    case .token(let token):
      tokens[token.id] = token
      tokenIDs[token.hash] = token.id
    case .login(let login):
      logins[login.id] = login
      loginsOfDevices[login.device] = login.id
    case .declaration(let mark): marks.put(mark)
    }
  }

  private mutating func remove(_ kind: RowKind, _ id: Int64) {
    switch kind {
    case .site:
      sites[id] = nil
      findOwnPools()
    case .users: if let old = users.removeValue(forKey: id), userIDs[old.name] == id { userIDs[old.name] = nil }
    case .groups: if let old = groups.removeValue(forKey: id), groupIDs[old.name] == id { groupIDs[old.name] = nil }
    case .members: if let old = members.removeValue(forKey: id) { Self.drop(old.group, of: old.user, from: &ofUsers.groups) }
    case .devices:
      guard let old = devices.removeValue(forKey: id) else { return }
      if deviceIDs[old.publicKey] == id { deviceIDs[old.publicKey] = nil }
      Self.drop(id, of: old.user, from: &ofUsers.devices)
    case .pools:
      pools[id] = nil
      findOwnPools()
    case .leases:
      guard let old = leases.removeValue(forKey: id) else { return }
      if leaseIDs[old.address] == id { leaseIDs[old.address] = nil }
      if let device = old.device { Self.drop(id, of: device, from: &leasesOfDevices) }
    case .settings:
      if let old = settings.removeValue(forKey: id), settingsOfScopes[old.scope] == id { settingsOfScopes[old.scope] = nil }
    case .rules: rules[id] = nil
    case .credentials:
      if let old = credentials.removeValue(forKey: id), credentialsOfUsers[old.user] == id { credentialsOfUsers[old.user] = nil }
    case .tokens: if let old = tokens.removeValue(forKey: id), tokenIDs[old.hash] == id { tokenIDs[old.hash] = nil }
    case .logins: if let old = logins.removeValue(forKey: id), loginsOfDevices[old.device] == id { loginsOfDevices[old.device] = nil }
    case .declarations: marks.remove(id)
    }
  }

  private mutating func findOwnPools() {
    let own = site?.id
    ownPools = Set(pools.values.lazy.filter { $0.site == nil || $0.site == own }.map(\.id))
  }

  private static func drop(_ value: Int64, of key: Int64, from index: inout [Int64: Set<Int64>]) {
    index[key]?.remove(value)
    // An empty set would distinguish it from a directory that was loaded.
    if index[key]?.isEmpty == true { index[key] = nil }
  }
}

/// The groups and the devices of each user, by its number.
private struct UserIndex: Hashable, Sendable {
  var groups: [Int64: Set<Int64>] = [:]
  var devices: [Int64: Set<Int64>] = [:]
}

// The gateway that reads, and the others.
extension Directory {
  /// The gateway itself: the one with the key of `viewpoint`, or the first one where no key is known. `nil`: there is none of this key, so
  /// that a gateway that was removed does not take another one's place.
  package var site: Site? {
    guard let viewpoint else { return sites.values.min { $0.id < $1.id } }
    return sites.values.first { $0.publicKey == viewpoint }
  }

  /// The gateways by name, this one first.
  package var sortedSites: [Site] {
    let own = site?.id
    return sites.values.sorted { ($0.id == own ? 0 : 1, $0.name) < ($1.id == own ? 0 : 1, $1.name) }
  }

  package func site(named name: GatewayName) -> Site? { sites.values.first { $0.name == name } }

  /// The pools whose addresses are at a gateway, in the order of their prefixes.
  package func pools(at site: Site) -> [Pool] { allPools.filter { $0.site == nil || $0.site == site.id } }

  /// The addresses of a device at a gateway, IPv4 first.
  package func addresses(of device: Int64, at site: Site) -> [IPAddress] {
    leases(of: device).filter { lease in pools[lease.pool].map { $0.site == nil || $0.site == site.id } ?? false }.map(\.address)
  }

  /// The pools of all gateways, in the order of their prefixes.
  package var allPools: [Pool] { pools.values.sorted { $0.prefix < $1.prefix } }

  /// The leases of a device at all gateways, in the order of their addresses.
  package func leases(of device: Int64) -> [Lease] {
    (leasesOfDevices[device] ?? []).compactMap { leases[$0] }.sorted { $0.address < $1.address }
  }
}

extension Directory {
  package func user(named name: GatewayName) -> User? { userIDs[name].flatMap { users[$0] } }
  package func group(named name: GatewayName) -> Group? { groupIDs[name].flatMap { groups[$0] } }
  package func pool(named name: GatewayName) -> Pool? { pools.values.first { $0.name == name } }
  package func rule(named name: GatewayName) -> AccessRule? { rules.values.first { $0.name == name } }
  package func device(of key: WireGuardKey) -> Device? { deviceIDs[key].flatMap { devices[$0] } }
  package func lease(of address: IPAddress) -> Lease? { leaseIDs[address].flatMap { leases[$0] } }

  package func credential(of user: Int64) -> Credential? { credentialsOfUsers[user].flatMap { credentials[$0] } }
  package func token(withHash hash: [UInt8]) -> EnrolmentToken? { tokenIDs[hash].flatMap { tokens[$0] } }
  package func login(of device: Int64) -> Login? { loginsOfDevices[device].flatMap { logins[$0] } }

  package func device(at path: DevicePath) -> Device? {
    user(named: path.user).flatMap { user in devices(of: user.id).first { $0.name == path.device } }
  }

  /// The devices of a user, by name.
  package func devices(of user: Int64) -> [Device] {
    (ofUsers.devices[user] ?? []).compactMap { devices[$0] }.sorted { $0.name < $1.name }
  }

  /// The groups of a user, the preferred one first.
  package func groups(of user: Int64) -> [Group] {
    (ofUsers.groups[user] ?? []).compactMap { groups[$0] }.sorted { ($0.precedence, $0.name) < ($1.precedence, $1.name) }
  }

  package func isMember(_ user: Int64, of group: Int64) -> Bool { ofUsers.groups[user]?.contains(group) ?? false }

  /// The addresses of a device at this gateway, IPv4 first.
  package func addresses(of device: Int64) -> [IPAddress] {
    (leasesOfDevices[device] ?? []).compactMap { leases[$0] }.filter { ownPools.contains($0.pool) }.map(\.address).sorted()
  }

  package func path(of device: Device) -> DevicePath? { users[device.user].map { DevicePath(user: $0.name, device: device.name) } }

  /// This gateway's pools in the order of their prefixes.
  package var sortedPools: [Pool] { ownPools.compactMap { pools[$0] }.sorted { $0.prefix < $1.prefix } }

  /// The families of this gateway's pools.
  package var families: [IPAddress.Family] { Set(sortedPools.map(\.prefix.family)).sorted() }

  /// The rules of access in the order of their evaluation.
  package var sortedRules: [AccessRule] { rules.values.sorted { ($0.position, $0.id) < ($1.position, $1.id) } }

  /// Whether the device may connect now.
  package func isActive(_ device: Device, at now: Timestamp) -> Bool {
    users[device.user]?.isActive(at: now) ?? false && !hasEnded(device)
  }

  /// Whether an administrator has ended the device's session. It has to log in again.
  package func hasEnded(_ device: Device) -> Bool { login(of: device.id)?.ended != nil }

  /// The merged settings of a device: its own, then those of its user, of the user's groups by precedence, of everybody.
  package func pushedSettings(of device: Device) -> PushedSettings {
    ([.device(device.id)] + scopes(of: device.user)).reduce(PushedSettings()) { merged, scope in
      settings(for: scope).map { merged.completed(by: $0.pushed) } ?? merged
    }
  }

  /// The most devices that a user has before the user can add no other one. Administrators add more.
  package func deviceLimit(of user: Int64) -> Int64 {
    scopes(of: user).lazy.compactMap { settings(for: $0)?.deviceLimit }.first ?? Settings.usualDeviceLimit
  }

  /// The scopes of all devices of a user, the most specific one first.
  func scopes(of user: Int64) -> [Settings.Scope] { [.user(user)] + groups(of: user).map { .group($0.id) } + [.everybody] }

  package func settings(for scope: Settings.Scope) -> Settings? { settingsOfScopes[scope].flatMap { settings[$0] } }
}

// Copies.
extension Directory {
  /// All rows of a kind.
  package func rows(_ kind: RowKind) -> [AnyRow] {
    switch kind {
    case .site: sites.values.map { .site($0) }
    case .users: users.values.map { .user($0) }
    case .groups: groups.values.map { .group($0) }
    case .members: members.values.map { .member($0) }
    case .devices: devices.values.map { .device($0) }
    case .pools: pools.values.map { .pool($0) }
    case .leases: leases.values.map { .lease($0) }
    case .settings: settings.values.map { .settings($0) }
    case .rules: rules.values.map { .rule($0) }
    case .credentials: credentials.values.map { .credential($0) }
    case .tokens: tokens.values.map { .token($0) }
    case .logins: logins.values.map { .login($0) }
    case .declarations: marks.rows.values.map { .declaration($0) }
    }
  }

  /// The same without any device: none may connect.
  package var withoutDevices: Directory {
    var directory = self
    for id in devices.keys { directory.apply(.remove(.devices, id)) }
    return directory
  }
}
