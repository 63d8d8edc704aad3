/// All that is said about a step, once, for every use.
package struct StepTraits {
  package let stage: StepStage
  package let executor: StepExecutor
  /// The link that the step changes.
  package var link: String?
  /// The link that has to be there for it: the one that it changes, or the one that a route leads to.
  package var device: String?
  /// The table of a route or a rule.
  package var table: UInt32?
  /// It takes something away, which may be gone already.
  package var takesAway = false
  /// The command that an administrator would type.
  let words: () -> String
  /// What takes it back; `nil` where removing the link does.
  var undo: () -> Step? = { nil }
  /// What there is once it is made, or what it takes away.
  var object: () -> String = { "" }
  /// What is there in the place of the object, where the link is.
  var before: () -> String? = { nil }
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

extension Step: CustomStringConvertible {
  package var description: String { traits.words() }

  /// What takes the step back; `nil` where removing the link does.
  package var undo: Step? { traits.undo() }

  package var stage: StepStage { traits.stage }

  /// The link that the step changes; `nil` for routes, rules and DNS.
  package var link: String? { traits.link }

  /// What there is once it is made, or what it takes away, for people; empty for name servers.
  package var object: String { traits.object() }

  /// What is there in the place of the object, where its link is.
  package var objectBefore: String? { traits.before() }
}
