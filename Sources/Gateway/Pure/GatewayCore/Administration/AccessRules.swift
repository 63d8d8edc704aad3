import NetworkTypes

// Rules of access.
extension Administration {
  /// Adds a rule at the end, or before another one. Its number and position are set here.
  package mutating func addRule(_ rule: AccessRule, before other: GatewayName? = nil) throws(GatewayError) {
    var rule = rule
    try refuseDeclared(.rules)
    if directory.rule(named: rule.name) != nil { throw GatewayError("there is a rule \(rule.name) already", help: "choose another name") }
    if !rule.ports.isEmpty, !rule.transport.hasPorts {
      throw GatewayError("ports need a protocol", help: "add `--protocol tcp` or `--protocol udp`")
    }
    let rules = directory.sortedRules
    rule.id = newID()
    if let other {
      guard let place = rules.firstIndex(where: { $0.name == other }) else {
        throw GatewayError("there is no rule \(other)", help: "`roamward-gateway access list` lists the rules")
      }
      rule.position = rules[place].position
      for var later in rules[place...] {
        later.position += 1
        put(.rule(later))
      }
    } else {
      rule.position = (rules.last?.position ?? 0) + 1
    }
    put(.rule(rule))
    record("access add", rule.name, directory.text(of: rule))
  }

  package mutating func removeRule(_ name: GatewayName) throws(GatewayError) {
    try refuseDeclared(.rules)
    guard let rule = directory.rule(named: name) else {
      throw GatewayError("there is no rule \(name)", help: "`roamward-gateway access list` lists the rules")
    }
    let text = directory.text(of: rule)
    remove(.rules, rule.id)
    record("access remove", name, text)
  }
}
