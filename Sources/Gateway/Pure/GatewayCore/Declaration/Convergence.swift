package import KernelModel
package import NetworkTypes

/// The requests that carry out what the files of a gateway declare.
package struct Convergence {
  private var work: Administration
  private var directory: Directory { work.directory }

  /// Makes the store what the files declare, and marks that. Things that were declared and are no longer: a group and settings are removed,
  /// a user is locked, so that nothing of the user's is lost; lists of pools and rules stay, and commands change them again. Throws the
  /// first declaration that cannot be carried out; nothing has changed then.
  ///
  /// - Parameters:
  ///   - others: what the files declare beside the store, to be marked.
  ///   - publicKey: the gateway's own.
  ///   - link: of a gateway that is not there yet, where the files name none.
  package static func carryOut(
    _ declared: Declaration, also others: [DeclaredSubject: DeclaredPlace] = [:], publicKey: WireGuardKey, link: InterfaceName?,
    in work: inout Administration
  ) throws(DeclarationFault) {
    work.directory.requireAll()
    var all = Convergence(work: work)
    all.work.isDeclaring = true
    try all.run(declared, others, publicKey, link)
    work = all.work
    work.isDeclaring = false
  }

  /// Makes the store what a command sets, without a declaration: what is not named stays. `cleared`: the settings that are gone.
  package static func set(
    _ values: Declaration, clearing cleared: [Declaration.Scope], publicKey: WireGuardKey, in work: inout Administration
  ) throws(DeclarationFault) {
    if values.site != nil || values.pools != nil { work.directory.requireAll() }
    var all = Convergence(work: work)
    guard let own = all.directory.site else { throw DeclarationFault(place: nil, error: .notInitialised) }
    if let site = values.site {
      try all.at(site.place) { all throws(GatewayError) in try all.work.refuseDeclared(.site) }
      try all.setSite(site, publicKey, nil)
    }
    if let pools = values.pools {
      try all.at(pools.place) { all throws(GatewayError) in try all.work.refuseDeclared(.pools) }
      try all.declare(pools, of: own)
    }
    for settings in values.settings {
      try all.at(settings.place) { all throws(GatewayError) in
        try all.work.refuseDeclared(.settings, settings.value.scope.text)
        try all.declare(settings.value)
      }
    }
    do throws(GatewayError) {
      for scope in cleared { try all.work.clearSettings(for: all.scope(of: scope), named: scope.text) }
    } catch { throw DeclarationFault(place: nil, error: error) }
    work = all.work
  }

  /// Ends all declarations of a gateway's files, where it has no file any more: everything stays as it is, and commands change it.
  package static func forget(in work: inout Administration) {
    guard let own = work.directory.site?.id else { return }
    let marks = work.directory.marks.rows.values.filter { $0.site == own }
    for mark in marks.sorted(by: { $0.id < $1.id }) { work.remove(.declarations, mark.id) }
  }

  private mutating func run(
    _ declared: Declaration, _ others: [DeclaredSubject: DeclaredPlace], _ publicKey: WireGuardKey, _ link: InterfaceName?
  ) throws(DeclarationFault) {
    if let site = declared.site { try setSite(site, publicKey, link) }
    guard let own = directory.site else {
      throw DeclarationFault(
        place: nil, error: GatewayError("no file says where clients reach this gateway", help: "declare `gateway: { endpoint: HOST }`"))
    }
    if let rules = declared.rules { dropRules(besides: rules.value.map(\.value.name)) }
    let subjects = declared.subjects.merging(others) { first, _ in first }
    try undeclare(besides: subjects, of: own)
    for group in declared.groups { try at(group.place) { all throws(GatewayError) in try all.declare(group.value) } }
    for user in declared.users { try at(user.place) { all throws(GatewayError) in try all.declare(user.value) } }
    for group in declared.groups {
      try at(group.place) { all throws(GatewayError) in try all.setMembers(group.value.members, of: group.value.name) }
    }
    if let pools = declared.pools { try declare(pools, of: own) }
    for settings in declared.settings { try at(settings.place) { all throws(GatewayError) in try all.declare(settings.value) } }
    if let rules = declared.rules { try declare(rules) }
    mark(subjects, of: own)
  }

  private mutating func at(
    _ place: DeclaredPlace, _ body: (inout Convergence) throws(GatewayError) -> Void
  ) throws(DeclarationFault) {
    do throws(GatewayError) { try body(&self) } catch { throw DeclarationFault(place: place, error: error) }
  }

  private mutating func setSite(
    _ site: Declaration.Placed<Declaration.Site>, _ key: WireGuardKey, _ link: InterfaceName?
  ) throws(DeclarationFault) {
    let present = directory.site
    guard let link = site.value.link ?? present?.link ?? link else { return }
    if present?.endpoint != site.value.endpoint || present?.link != link || present?.publicKey != key {
      work.setSite(site.value.endpoint, publicKey: key, link: link)
    }
    guard let name = site.value.name, let present = directory.site?.name else { return }
    try at(site.place) { all throws(GatewayError) in try all.work.renameSite(present, to: name) }
  }
}

// Groups, users, settings.
extension Convergence {
  private mutating func declare(_ group: Declaration.Group) throws(GatewayError) {
    if directory.group(named: group.name) == nil { return try work.addGroup(group.name, precedence: group.precedence) }
    try Accounts.setPrecedence(group.precedence, of: group.name, in: &work)
  }

  private mutating func declare(_ user: Declaration.User) throws(GatewayError) {
    if directory.user(named: user.name) == nil { return try work.addUser(user.name, until: user.until) }
    let isBack = !directory.marks.marks(of: DeclaredSubject(.formerUser, user.name.description)).isEmpty
    try Accounts.setEnd(user.until, of: user.name, in: &work)
    if isBack { try work.setLocked(false, user.name) }
  }

  private mutating func setMembers(_ members: [GatewayName]?, of group: GatewayName) throws(GatewayError) {
    guard let members else { return }
    let id = try work.group(group).id
    let wanted = Set(members)
    let present = directory.members.values.filter { $0.group == id }.compactMap { directory.users[$0.user]?.name }
    for name in present.sorted() where !wanted.contains(name) { try work.setMember(false, name, of: group) }
    for name in members { try work.setMember(true, name, of: group) }
  }

  private mutating func declare(_ settings: Declaration.ScopeSettings) throws(GatewayError) {
    let scope = try scope(of: settings.scope)
    let present = directory.settings(for: scope)
    if let present, present.pushed == settings.pushed, present.deviceLimit == settings.deviceLimit { return }
    // All settings of the scope: those that are not named are gone.
    if let present { work.put(.settings(Settings(id: present.id, scope: scope, pushed: PushedSettings()))) }
    try work.change(settings.pushed, deviceLimit: settings.deviceLimit, for: scope, named: settings.scope.text)
  }

  /// The owner of settings in the store.
  private func scope(of scope: Declaration.Scope) throws(GatewayError) -> Settings.Scope {
    switch scope {
    case .everybody: .everybody
    case .group(let name): .group(try work.group(name).id)
    case .user(let name): .user(try work.user(name).id)
    case .device(let path): .device(try work.device(path).id)
    }
  }
}

// Pools and rules: whole lists.
extension Convergence {
  private mutating func declare(
    _ pools: Declaration.Placed<[Declaration.Placed<Declaration.Pool>]>, of own: Site
  ) throws(DeclarationFault) {
    let wanted = Dictionary(pools.value.map { ($0.value.name, $0.value) }) { first, _ in first }
    for pool in directory.pools(at: own) {
      let new = wanted[pool.name]
      if new?.prefix == pool.prefix, new?.isEverywhere == (pool.site == nil) { continue }
      try at(pools.place) { all throws(GatewayError) in try all.work.removePool(pool.name) }
    }
    for pool in pools.value {
      try at(pool.place) { all throws(GatewayError) in try all.declare(pool.value) }
    }
  }

  private mutating func declare(_ pool: Declaration.Pool) throws(GatewayError) {
    guard var present = directory.pool(named: pool.name) else {
      return try work.addPool(pool.name, pool.prefix, isTranslated: pool.isTranslated, isEverywhere: pool.isEverywhere)
    }
    guard present.isTranslated != pool.isTranslated else { return }
    present.isTranslated = pool.isTranslated
    work.put(.pool(present))
    work.record("pool set", pool.name, pool.isTranslated ? "masquerade" : "no masquerade")
  }

  private mutating func dropRules(besides names: [GatewayName]) {
    let wanted = Set(names)
    for rule in directory.sortedRules where !wanted.contains(rule.name) {
      let text = directory.text(of: rule)
      work.remove(.rules, rule.id)
      work.record("access remove", rule.name, text)
    }
  }

  private mutating func declare(_ rules: Declaration.Placed<[Declaration.Placed<Declaration.Rule>]>) throws(DeclarationFault) {
    // Positions that are in order stay: a rule that is added at the end changes no other.
    var last = Int64.min
    for rule in rules.value {
      try at(rule.place) { all throws(GatewayError) in
        let present = all.directory.rule(named: rule.value.name)
        var new = try AccessRule(rule.value, in: all.work)
        new.id = present?.id ?? all.work.newID()
        new.position = present.map { max($0.position, last + 1) } ?? max(last + 1, 1)
        last = new.position
        guard new != present else { return }
        let isMoved =
          present.map {
            var moved = $0; moved.position = new.position; return moved
          } == new
        all.work.put(.rule(new))
        if !isMoved { all.work.record(present == nil ? "access add" : "access set", new.name, all.directory.text(of: new)) }
      }
    }
  }
}

extension AccessRule {
  /// A rule as it is written, by the numbers of what it names. Its own number and position are set by others.
  package init(_ rule: Declaration.Rule, in work: Administration) throws(GatewayError) {
    let source: Source =
      switch rule.source {
      case .everybody: .everybody
      case .user(let name): .user(try work.user(name).id)
      case .group(let name): .group(try work.group(name).id)
      }
    let destination: Destination =
      switch rule.destination {
      case .everything: .everything
      case .prefixes(let prefixes): .prefixes(prefixes)
      case .group(let name): .devices(ofGroup: try work.group(name).id)
      }
    self.init(
      id: 0, name: rule.name, position: 0, source: source, destination: destination, transport: rule.transport, ports: rule.ports,
      isAllowing: rule.isAllowing)
  }
}

// Marks.
extension Convergence {
  /// Ends the declaration of what this gateway's files no longer have, unless another gateway's do.
  private mutating func undeclare(besides subjects: [DeclaredSubject: DeclaredPlace], of own: Site) throws(DeclarationFault) {
    let marks = directory.marks.rows.values.filter { $0.site == own.id && $0.subject.kind != .formerUser }
    for mark in marks.sorted(by: { $0.id < $1.id }) where subjects[mark.subject] == nil {
      work.remove(.declarations, mark.id)
      guard directory.marks.marks(of: mark.subject).isEmpty else { continue }
      do throws(GatewayError) { try end(mark) } catch {
        throw DeclarationFault(
          place: nil,
          error: GatewayError("\(mark.subject.text), once in \(mark.place), is declared no longer: \(error.text)", help: error.help))
      }
    }
  }

  private mutating func end(_ mark: DeclaredMark) throws(GatewayError) {
    guard let name = GatewayName(mark.subject.name) else {
      if mark.subject.kind == .settings, let scope = try settingsScope(named: mark.subject.name) {
        try work.clearSettings(for: scope, named: mark.subject.name)
      }
      return
    }
    switch mark.subject.kind {
    case .group: if directory.group(named: name) != nil { try work.removeGroup(name) }
    case .user:
      guard let user = directory.user(named: name), !user.isLocked else { return }
      try work.setLocked(true, name, reason: "declared no longer in \(mark.place)")
      work.put(
        .declaration(
          DeclaredMark(id: work.newID(), subject: DeclaredSubject(.formerUser, mark.subject.name), place: mark.place, site: mark.site)))
    case .settings: if mark.subject.name == "everybody" { try work.clearSettings(for: .everybody, named: mark.subject.name) }
    case .site, .pools, .members, .formerUser, .rules, .rule, .host: break
    }
  }

  /// `group staff` and the like; `nil`: the owner is not there any more.
  private func settingsScope(named text: String) throws(GatewayError) -> Settings.Scope? {
    let words = text.split(separator: " ").map(String.init)
    guard words.count == 2 else { return nil }
    switch words[0] {
    case "group": return GatewayName(words[1]).flatMap { directory.group(named: $0) }.map { .group($0.id) }
    case "user": return GatewayName(words[1]).flatMap { directory.user(named: $0) }.map { .user($0.id) }
    case "device": return DevicePath(words[1]).flatMap { directory.device(at: $0) }.map { .device($0.id) }
    default: return nil
    }
  }

  private mutating func mark(_ subjects: [DeclaredSubject: DeclaredPlace], of own: Site) {
    for mark in directory.marks.rows.values.filter({ $0.site == own.id && $0.subject.kind == .formerUser }).sorted(by: { $0.id < $1.id })
    where subjects[DeclaredSubject(.user, mark.subject.name)] != nil { work.remove(.declarations, mark.id) }
    for (subject, place) in subjects.sorted(by: { ($0.key.kind.rawValue, $0.key.name) < ($1.key.kind.rawValue, $1.key.name) }) {
      let present = directory.marks.marks(of: subject).first { $0.site == own.id }
      if present?.place == place.description { continue }
      work.put(.declaration(DeclaredMark(id: present?.id ?? work.newID(), subject: subject, place: place.description, site: own.id)))
    }
  }
}

extension Declaration {
  /// Everything that is declared, with its place.
  package var subjects: [DeclaredSubject: DeclaredPlace] {
    var found: [DeclaredSubject: DeclaredPlace] = [:]
    if let site { found[DeclaredSubject(.site)] = site.place }
    if let pools { found[DeclaredSubject(.pools)] = pools.place }
    for group in groups {
      found[DeclaredSubject(.group, group.value.name.description)] = group.place
      if group.value.members != nil { found[DeclaredSubject(.members, group.value.name.description)] = group.place }
    }
    for user in users { found[DeclaredSubject(.user, user.value.name.description)] = user.place }
    for settings in settings { found[DeclaredSubject(.settings, settings.value.scope.text)] = settings.place }
    if let rules { found[DeclaredSubject(.rules)] = rules.place }
    for rule in rules?.value ?? [] { found[DeclaredSubject(.rule, rule.value.name.description)] = rule.place }
    return found
  }
}
