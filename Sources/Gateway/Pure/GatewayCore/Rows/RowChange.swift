/// A kind of rows, one for each followed table.
package enum RowKind: String, Hashable, Sendable, CaseIterable {
  /// The gateways of the store.
  case site
  /// People.
  case users
  /// Groups of users.
  case groups
  /// Users in groups.
  case members
  /// Devices of users.
  case devices
  /// Ranges of addresses.
  case pools
  /// Addresses of devices.
  case leases
  /// Settings in clients' files.
  case settings
  /// Rules of access.
  case rules = "access_rules"
  /// Passwords and one-time codes, as hashes.
  case credentials
  /// One-time tokens for logins.
  case tokens
  /// The services by which users log in.
  case logins
  /// Marks of what files declare.
  case declarations

  package var table: TableDeclaration {
    switch self {
    case .site: Site.table
    case .users: User.table
    case .groups: Group.table
    case .members: Membership.table
    case .devices: Device.table
    case .pools: Pool.table
    case .leases: Lease.table
    case .settings: Settings.table
    case .rules: AccessRule.table
    case .credentials: Credential.table
    case .tokens: EnrolmentToken.table
    case .logins: Login.table
    case .declarations: DeclaredMark.table
    }
  }
}

extension RowKind {
  /// From what is around to what is within.
  static let order: [RowKind] = [
    .site, .pools, .groups, .users, .members, .settings, .rules, .devices, .credentials, .tokens, .logins, .leases, .declarations,
  ]
}

/// A row of any kind.
package enum AnyRow: Hashable, Sendable {
  case site(Site)
  case user(User)
  case group(Group)
  case member(Membership)
  case device(Device)
  case pool(Pool)
  case lease(Lease)
  case settings(Settings)
  case rule(AccessRule)
  case credential(Credential)
  case token(EnrolmentToken)
  case login(Login)
  case declaration(DeclaredMark)

  package init(_ kind: RowKind, id: Int64, values: [SQLValue]) throws(RowError) {
    switch kind {
    case .site: self = .site(try Site(id: id, values: values))
    case .users: self = .user(try User(id: id, values: values))
    case .groups: self = .group(try Group(id: id, values: values))
    case .members: self = .member(try Membership(id: id, values: values))
    case .devices: self = .device(try Device(id: id, values: values))
    case .pools: self = .pool(try Pool(id: id, values: values))
    case .leases: self = .lease(try Lease(id: id, values: values))
    case .settings: self = .settings(try Settings(id: id, values: values))
    case .rules: self = .rule(try AccessRule(id: id, values: values))
    case .credentials: self = .credential(try Credential(id: id, values: values))
    case .tokens: self = .token(try EnrolmentToken(id: id, values: values))
    case .logins: self = .login(try Login(id: id, values: values))
    case .declarations: self = .declaration(try DeclaredMark(id: id, values: values))
    }
  }

  package var kind: RowKind {
    switch self {
    case .site: .site
    case .user: .users
    case .group: .groups
    case .member: .members
    case .device: .devices
    case .pool: .pools
    case .lease: .leases
    case .settings: .settings
    case .rule: .rules
    case .credential: .credentials
    case .token: .tokens
    case .login: .logins
    case .declaration: .declarations
    }
  }

  private var row: any Row {
    switch self {
    case .site(let row): row
    case .user(let row): row
    case .group(let row): row
    case .member(let row): row
    case .device(let row): row
    case .pool(let row): row
    case .lease(let row): row
    case .settings(let row): row
    case .rule(let row): row
    case .credential(let row): row
    case .token(let row): row
    case .login(let row): row
    case .declaration(let row): row
    }
  }

  package var id: Int64 { row.id }
  package var values: [SQLValue] { row.values }
}

/// A change of one row: how a gateway follows the store, and how a request changes it.
package enum RowChange: Hashable, Sendable {
  case put(AnyRow)
  case remove(RowKind, Int64)
}

extension RowChange {
  var kind: RowKind {
    switch self {
    case .put(let row): row.kind
    case .remove(let kind, _): kind
    }
  }

  var id: Int64 {
    switch self {
    case .put(let row): row.id
    case .remove(_, let id): id
    }
  }
}
