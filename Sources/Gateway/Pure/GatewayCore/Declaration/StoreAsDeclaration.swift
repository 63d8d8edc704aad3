import NetworkTypes

extension Declaration {
  /// The store of this gateway, as files would declare it. Locks, passwords, devices and sessions are no part of it: they are not declared.
  package init(of directory: Directory) {
    self.init()
    let nowhere = DeclaredPlace(file: "", line: 0, column: 0)
    func placed<Value>(_ value: Value) -> Placed<Value> { Placed(value, at: nowhere) }
    site = directory.site.map { own in
      placed(Site(endpoint: own.endpoint, link: own.link, name: own.name == GatewayCore.Site.usualName ? nil : own.name))
    }
    let own = directory.site.map { directory.pools(at: $0) } ?? []
    pools = placed(
      own.map { pool in
        placed(Pool(name: pool.name, prefix: pool.prefix, isTranslated: pool.isTranslated, isEverywhere: pool.site == nil))
      })
    groups = directory.groups.values.sorted { ($0.precedence, $0.name) < ($1.precedence, $1.name) }.map { group in
      let members = directory.members.values.filter { $0.group == group.id }.compactMap { directory.users[$0.user]?.name }.sorted()
      return placed(Group(name: group.name, precedence: group.precedence, members: members))
    }
    users = directory.users.values.sorted { $0.name < $1.name }.map { placed(User(name: $0.name, until: $0.until)) }
    settings = directory.settings.values.compactMap { row in
      Scope(row.scope, in: directory).map { placed(ScopeSettings(scope: $0, pushed: row.pushed, deviceLimit: row.deviceLimit)) }
    }.sorted { $0.value.scope.order < $1.value.scope.order }
    rules = placed(directory.sortedRules.compactMap { Rule($0, in: directory).map { placed($0) } })
  }
}

extension Declaration.Scope {
  /// `nil`: the owner is not there.
  fileprivate init?(_ scope: Settings.Scope, in directory: Directory) {
    switch scope {
    case .everybody: self = .everybody
    case .group(let id):
      guard let group = directory.groups[id] else { return nil }
      self = .group(group.name)
    case .user(let id):
      guard let user = directory.users[id] else { return nil }
      self = .user(user.name)
    case .device(let id):
      guard let path = directory.devices[id].flatMap({ directory.path(of: $0) }) else { return nil }
      self = .device(path)
    }
  }

  fileprivate var order: String {
    switch self {
    case .everybody: "0"
    case .group(let name): "1 \(name)"
    case .user(let name): "2 \(name)"
    case .device(let path): "3 \(path)"
    }
  }
}

extension Declaration.Rule {
  /// `nil`: it names a user or a group that is not there.
  fileprivate init?(_ rule: AccessRule, in directory: Directory) {
    let source: Declaration.Party?
    switch rule.source {
    case .everybody: source = .everybody
    case .user(let id): source = directory.users[id].map { .user($0.name) }
    case .group(let id): source = directory.groups[id].map { .group($0.name) }
    }
    let destination: Declaration.Goal?
    switch rule.destination {
    case .everything: destination = .everything
    case .prefixes(let prefixes): destination = .prefixes(prefixes)
    case .devices(let group): destination = directory.groups[group].map { .group($0.name) }
    }
    guard let source, let destination else { return nil }
    self.init(
      name: rule.name, isAllowing: rule.isAllowing, source: source, destination: destination, transport: rule.transport, ports: rule.ports)
  }
}
