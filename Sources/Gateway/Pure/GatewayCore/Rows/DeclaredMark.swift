/// That a file of a gateway declares something: no command changes it, and it goes when the file no longer has it.
package struct DeclaredMark: Row {
  package var id: Int64
  package var subject: DeclaredSubject
  /// `FILE:LINE`.
  package var place: String
  /// The gateway whose file it is.
  package var site: Int64

  package init(id: Int64, subject: DeclaredSubject, place: String, site: Int64) {
    self.id = id
    self.subject = subject
    self.place = place
    self.site = site
  }

  package static let table = TableDeclaration(name: "declarations", columns: ["kind", "name", "place", "site_id"])
  package var values: [SQLValue] { [.text(subject.kind.rawValue), .text(subject.name), .text(place), .integer(site)] }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let kind = DeclaredSubject.Kind(rawValue: row.text())
    let (name, place, site) = (row.text(), row.text(), row.integer())
    guard row.isValid, let kind else { throw RowError(table: Self.table.name, id: id) }
    self.init(id: id, subject: DeclaredSubject(kind, name), place: place, site: site)
  }
}

/// A thing that a file can declare.
package struct DeclaredSubject: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Endpoint, link and name of the gateway.
    case site
    /// All pools of the gateway.
    case pools
    /// A group of users, with its precedence.
    case group
    /// All users of a group.
    case members
    /// A user, with the end of the account.
    case user
    /// A user whom a file declared, and who was locked when no file did any more.
    case formerUser = "former-user"
    /// All settings of a scope.
    case settings
    /// All rules of access.
    case rules
    /// One of them, with its own place.
    case rule
    /// A setting of one gateway, by the name of its file.
    case host
  }

  package let kind: Kind
  /// The name of the object; empty: there is one of this kind.
  package let name: String

  package init(_ kind: Kind, _ name: String = "") {
    self.kind = kind
    self.name = name
  }

  /// In words: `user alice`, `settings of group staff`.
  package var text: String {
    switch kind {
    case .site: "this gateway's endpoint"
    case .pools: "the list of pools"
    case .group: "group \(name)"
    case .members: "the list of members of group \(name)"
    case .user, .formerUser: "user \(name)"
    case .settings: "settings of \(name)"
    case .rules: "the list of rules of access"
    case .rule: "rule \(name)"
    case .host: "\(name)"
    }
  }
}

/// The marks of all gateways, found by their subjects.
package struct DeclaredMarks: Hashable, Sendable {
  package private(set) var rows: [Int64: DeclaredMark] = [:]
  private var bySubject: [DeclaredSubject: Set<Int64>] = [:]

  mutating func put(_ mark: DeclaredMark) {
    rows[mark.id] = mark
    bySubject[mark.subject, default: []].insert(mark.id)
  }

  mutating func remove(_ id: Int64) {
    guard let old = rows.removeValue(forKey: id) else { return }
    bySubject[old.subject]?.remove(id)
    if bySubject[old.subject]?.isEmpty == true { bySubject[old.subject] = nil }
  }

  /// The marks of a subject, one for each gateway whose file declares it.
  func marks(of subject: DeclaredSubject) -> [DeclaredMark] { (bySubject[subject] ?? []).sorted().compactMap { rows[$0] } }

  /// The refusal of a change by a command: a file declares the subject. `nil`: none does. `site`: the gateway of the command, whose
  /// endpoint, pools and own settings other gateways do not declare.
  package func refusal(of subject: DeclaredSubject, at site: Int64?) -> GatewayError? {
    let isOwn = [.site, .pools, .host].contains(subject.kind)
    guard let mark = marks(of: subject).first(where: { !isOwn || $0.site == site }) else { return nil }
    return GatewayError(
      "\(mark.place) declares \(subject.text)",
      help: "change it there, or with `roamward-gateway set`; a running gateway takes it within a second")
  }
}
