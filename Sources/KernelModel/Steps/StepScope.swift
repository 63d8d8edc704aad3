extension Step {
  /// The link that the step changes; `nil` for routes, rules and DNS.
  package var link: String? {
    switch self {
    case .addWireGuardLink(let link, _), .addDummyLink(let link), .setAlias(let link, _), .configureWireGuard(let link, _),
      .renewSessions(let link, _),
      .setMTU(let link, _, _),
      .addAddress(_, let link), .removeAddress(_, let link), .setUp(let link), .deleteLink(let link, _):
      link
    case .addRoute, .removeRoute, .addRule, .removeRule, .writeResolvConf, .restoreResolvConf, .replaceFirewall, .removeFirewall,
      .setLinkResolver, .revertLinkResolver, .setRecord, .removeRecord:
      nil
    }
  }

  /// Whether the step cannot be made before the link is there.
  package func needs(link: String) -> Bool {
    if case .addRoute(let route) = self { route.link == link } else { self.link == link }
  }

  /// Whether it belongs to the tunnel with this link and table. DNS belongs to none: its failure never takes a tunnel down.
  package func concerns(link: String?, table: UInt32) -> Bool {
    switch self {
    case .addRoute(let route), .removeRoute(let route): route.table == table
    case .addRule(let rule), .removeRule(let rule): rule.table == table
    default: self.link != nil && self.link == link
    }
  }

  /// Whether it is about name servers.
  package var isOfResolver: Bool {
    switch self {
    case .writeResolvConf, .restoreResolvConf: true
    default: isOfResolverProgram || link == Ownership.refusalLink
    }
  }

  /// Whether another program has to be asked, which takes its time.
  package var isOfResolverProgram: Bool {
    switch self {
    case .setLinkResolver, .revertLinkResolver, .setRecord, .removeRecord: true
    default: false
    }
  }

  /// Whether another program makes the change, and says later that it has: a resolver's, or the engine of a userspace device.
  package var isMadeByAnotherProgram: Bool { if case .addWireGuardLink(_, .userspace) = self { true } else { isOfResolverProgram } }

  /// Whether it takes back name servers that are no longer wanted.
  package var isResolverRemoval: Bool {
    switch self {
    case .restoreResolvConf, .revertLinkResolver, .removeRecord: true
    default: false
    }
  }
}
