/// The properties of a step for its executor, derived from its declaration (`Step.declaration`).
package struct StepTraits {
  package let stage: StepStage
  package let executor: StepExecutor
  /// The link that the step changes.
  package let link: String?
  /// The link that has to exist for the step: the one that it changes, or the one that a route leads to.
  package let device: String?
  /// The table of a route or a rule.
  package let table: UInt32?
  /// Whether the step removes something, which may be gone already.
  package let takesAway: Bool
}

/// The executor of a step.
package enum StepExecutor: Equatable, Sendable {
  /// The kernel, by one route netlink message that creates and removes no link, and so may be batched with others (`NetlinkWriter.write`).
  case kernelInBatches
  /// The kernel, by a message of its own.
  case kernel
  /// nftables, in one transaction.
  case firewall
  /// The resolver's file.
  case resolverFile
  /// Another program, which takes time.
  case resolverProgram
  /// `roamward-wireguard`.
  case userspaceEngine
  /// `roamward-proxy`, and files of other programs.
  case proxies
}

extension Step {
  package var traits: StepTraits {
    guard case .traits(let traits) = declaration(.traits) else { preconditionFailure("no traits") }
    return traits
  }

  /// The step that reverts this one; `nil` if removing the link does.
  package var undo: Step? { if case .step(let step) = declaration(.undo) { step } else { nil } }

  /// Whether its description is a command that an administrator can type; other descriptions only look like one, or are prose.
  package var isCommand: Bool {
    switch self {
    case .configureWireGuard, .renewSessions, .replaceFirewall, .setNameCapture, .writeResolvConf, .restoreResolvConf, .setLinkResolver,
      .setRecord, .setNameServer, .stopNameServer, .setProxies, .removeProxies:
      false
    case .addWireGuardLink, .addTUNLink, .addXFRMLink, .addDummyLink, .setAlias, .setMTU, .addAddress, .removeAddress, .setUp, .deleteLink,
      .addRoute, .removeRoute, .addRule, .removeRule, .removeFirewall, .removeNameCapture, .revertLinkResolver, .removeRecord:
      true
    }
  }

  package var stage: StepStage { traits.stage }

  /// The link that the step changes; `nil` for routes, rules and DNS.
  package var link: String? { traits.link }

  /// The object that the step makes or removes, for people; `nil` for name servers.
  package var object: String? { text(.object) }

  /// The object that is in the same place before the step, if its link exists.
  package var objectBefore: String? { text(.before) }

  private func text(_ part: Part) -> String? { if case .text(let text) = declaration(part) { text } else { nil } }
}

extension Step: CustomStringConvertible {
  package var description: String { text(.words) ?? "" }
}
