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
