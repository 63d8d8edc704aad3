package import NetworkTypes

/// A person, or a machine, whose devices may connect.
package struct User: Row {
  package var id: Int64
  package var name: GatewayName
  /// Whether the user's devices are refused until the user is unlocked.
  package var isLocked: Bool
  /// The end of the account; `nil`: none.
  package var until: Timestamp?
  /// The person elsewhere who logs in as this user: at an OpenID provider `ISSUER SUBJECT`, by PAM `pam SERVICE NAME`; `nil`: nobody does.
  package var subject: String?

  package init(id: Int64, name: GatewayName, isLocked: Bool = false, until: Timestamp? = nil, subject: String? = nil) {
    self.id = id
    self.name = name
    self.isLocked = isLocked
    self.until = until
    self.subject = subject
  }

  /// The end of an account as it is written: a time, or a day (`2027-01-31`), at whose beginning in UTC it ends, as with chage(1).
  package static func end(_ text: String) -> Timestamp? {
    Timestamp(text.utf8.count == 10 ? text + "T00:00:00.000Z" : text)?.wholeSecond
  }

  /// Whether the user's devices may connect now.
  package func isActive(at now: Timestamp) -> Bool { !isLocked && until.map { now < $0 } ?? true }

  /// In a word: `locked`, `active` or `expired`.
  package func state(at now: Timestamp) -> String { isLocked ? "locked" : isActive(at: now) ? "active" : "expired" }

  package static let table = TableDeclaration(name: "users", columns: ["name", "locked", "until", "subject"])
  package var values: [SQLValue] { [.text(name.description), SQLValue(isLocked), SQLValue(until), SQLValue(subject)] }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let name = row.parsed(GatewayName.self)
    let isLocked = row.flag()
    let until = row.optionalTime()
    let subject = row.optionalText()
    guard row.isValid, let name else { throw RowError(table: Self.table.name, id: id) }
    self.init(id: id, name: name, isLocked: isLocked, until: until, subject: subject)
  }
}

/// A group of users, for settings and access rules.
package struct Group: Row {
  package var id: Int64
  package var name: GatewayName
  /// Of two groups of a user, the settings of the one with the lower number are preferred.
  package var precedence: Int64

  package init(id: Int64, name: GatewayName, precedence: Int64 = 100) {
    self.id = id
    self.name = name
    self.precedence = precedence
  }

  package static let table = TableDeclaration(name: "groups", columns: ["name", "precedence"])
  package var values: [SQLValue] { [.text(name.description), .integer(precedence)] }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let name = row.parsed(GatewayName.self)
    let precedence = row.integer()
    guard row.isValid, let name else { throw RowError(table: Self.table.name, id: id) }
    self.init(id: id, name: name, precedence: precedence)
  }
}

/// A user's membership in a group.
package struct Membership: Row {
  package var id: Int64
  package var user: Int64
  package var group: Int64

  package init(id: Int64, user: Int64, group: Int64) {
    self.id = id
    self.user = user
    self.group = group
  }

  package static let table = TableDeclaration(name: "members", columns: ["user_id", "group_id"])
  package var values: [SQLValue] { [.integer(user), .integer(group)] }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let (user, group) = (row.integer(), row.integer())
    guard row.isValid else { throw RowError(table: Self.table.name, id: id) }
    self.init(id: id, user: user, group: group)
  }
}
