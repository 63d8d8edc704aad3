extension Step {
  /// The link that the step changes; `nil` for routes, rules and DNS.
  package var link: String? {
    switch self {
    case .addWireGuardLink(let link, _), .setAlias(let link, _), .configureWireGuard(let link, _), .setMTU(let link, _, _),
      .addAddress(_, let link), .removeAddress(_, let link), .setUp(let link), .deleteLink(let link, _):
      link
    case .addRoute, .removeRoute, .addRule, .removeRule, .writeResolvConf, .restoreResolvConf, .replaceFirewall, .removeFirewall: nil
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
}
