extension Step {
  /// Whether the step makes or removes a route. A plan may have 100,000 such steps, and few others.
  package var isOfRoute: Bool {
    switch self {
    case .addRoute, .removeRoute: true
    default: false
    }
  }

  /// Whether the step decides which way packets take, and takes effect at once: a route, a rule, or the firewall.
  package var isOfWay: Bool {
    switch self {
    case .addRoute, .removeRoute, .addRule, .removeRule, .replaceFirewall: true
    default: false
    }
  }

  /// Whether the step requires the link to exist.
  package func needs(link: String) -> Bool {
    let traits = traits
    return (traits.takesAway ? traits.link : traits.device) == link
  }

  /// Whether the step belongs to the tunnel with this link and table. DNS belongs to none: its failure never takes a tunnel down.
  package func concerns(link: String?, table: UInt32) -> Bool {
    let traits = traits
    if let own = traits.table { return own == table }
    return traits.link != nil && traits.link == link
  }

  /// Whether the step changes name servers.
  package var isOfResolver: Bool {
    if isOfRoute { return false }
    let traits = traits
    return traits.executor == .resolverFile || traits.executor == .resolverProgram || traits.link == Ownership.refusalLink
  }

  /// Whether the step calls another program, which takes time.
  package var isOfResolverProgram: Bool { !isOfRoute && traits.executor == .resolverProgram }

  /// Whether another program makes the change and reports it later: a resolver, or the engine of a userspace device.
  package var isMadeByAnotherProgram: Bool { if case .addWireGuardLink(_, .userspace) = self { true } else { isOfResolverProgram } }
}
