/// What follows from a step's declaration (`Step.declaration`) for who carries it out.
package struct StepTraits {
  package let stage: StepStage
  package let executor: StepExecutor
  /// The link that the step changes.
  package let link: String?
  /// The link that has to be there for it: the one that it changes, or the one that a route leads to.
  package let device: String?
  /// The table of a route or a rule.
  package let table: UInt32?
  /// It takes something away, which may be gone already.
  package let takesAway: Bool
}

/// By what a step is carried out.
package enum StepExecutor: Hashable, Sendable {
  /// The kernel, by one message of route netlink that changes no link's existence, and so may go out with others (`NetlinkWriter.write`).
  case kernelInBatches
  /// The kernel, by itself.
  case kernel
  /// nftables, in one transaction.
  case firewall
  /// The file of the resolver.
  case resolverFile
  /// Another program, which has to be asked, and takes its time.
  case resolverProgram
  /// `roamward-wireguard`.
  case userspaceEngine
}

extension Step {
  package var traits: StepTraits {
    guard case .traits(let traits) = declaration(.traits) else { preconditionFailure("no traits") }
    return traits
  }

  /// What takes the step back; `nil` where removing the link does.
  package var undo: Step? { if case .step(let step) = declaration(.undo) { step } else { nil } }

  package var stage: StepStage { traits.stage }

  /// The link that the step changes; `nil` for routes, rules and DNS.
  package var link: String? { traits.link }

  /// What there is once it is made, or what it takes away, for people; `nil` for name servers.
  package var object: String? { text(.object) }

  /// What is there in the place of the object, where its link is.
  package var objectBefore: String? { text(.before) }

  private func text(_ part: Part) -> String? { if case .text(let text) = declaration(part) { text } else { nil } }
}

extension Step: CustomStringConvertible {
  package var description: String { text(.words) ?? "" }
}
