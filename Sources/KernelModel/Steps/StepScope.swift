extension Step {
  /// Whether the step cannot be made before the link is there.
  package func needs(link: String) -> Bool {
    let traits = traits
    return (traits.takesAway ? traits.link : traits.device) == link
  }

  /// Whether it belongs to the tunnel with this link and table. DNS belongs to none: its failure never takes a tunnel down.
  package func concerns(link: String?, table: UInt32) -> Bool {
    let traits = traits
    if let own = traits.table { return own == table }
    return traits.link != nil && traits.link == link
  }

  /// Whether it is about name servers.
  package var isOfResolver: Bool {
    let traits = traits
    return traits.executor == .resolverFile || traits.executor == .resolverProgram || traits.link == Ownership.refusalLink
  }

  /// Whether another program has to be asked, which takes its time.
  package var isOfResolverProgram: Bool { traits.executor == .resolverProgram }

  /// Whether another program makes the change, and says later that it has: a resolver's, or the engine of a userspace device.
  package var isMadeByAnotherProgram: Bool { if case .addWireGuardLink(_, .userspace) = self { true } else { isOfResolverProgram } }
}
