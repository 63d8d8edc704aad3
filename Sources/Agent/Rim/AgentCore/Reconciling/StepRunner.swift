import KernelModel
internal import NetworkTypes
import RoamwardCore

/// Applies steps, stage by stage: the only place from which steps are applied. If a step fails, the steps that depend on it are not
/// applied: no packet may take an incomplete path (docs/security-kill-switch.md, "Order").
struct StepRunner {
  /// The result of steps.
  struct Outcome {
    var made: [Step] = []
    var failures: [StepFailure] = []
  }

  let platform: Platform

  /// Applies the steps that take effect at once; the others are begun. `isChangingResolver`: a resolver program is at work, which takes one
  /// change at a time. `begin` returns whether the step has been made already: then the steps that need it follow.
  func carryOut(_ steps: [Step], isChangingResolver: Bool, begin: (Step) -> Bool) -> Outcome {
    let others = steps.filter { !$0.isOfRoute }
    for step in others { if let link = step.addedLink { platform.recoveryLog.recordLink(link) } }
    let engines = others.filter { $0.isMadeByAnotherProgram && !$0.isOfResolverProgram }
    let waiting = engines.filter { !begin($0) }.compactMap(\.addedLink)
    let isAtOnce = { (step: Step) in !step.isMadeByAnotherProgram && !waiting.contains(where: step.needs) }
    let now = waiting.isEmpty && others.allSatisfy(isAtOnce) ? steps : steps.filter(isAtOnce)
    // Settings are removed from a resolver before everything else, and added after everything else.
    let changes = isChangingResolver ? [] : others.filter(\.isOfResolverProgram)
    let removal = changes.first { $0.stage == .removal }
    if let removal { _ = begin(removal) }
    var outcome = Outcome()
    apply(now, &outcome)
    let isFree = { (step: Step) in step.stage != .removal && !outcome.failures.contains { step.builds(on: $0.step) } }
    if removal == nil, let change = changes.first(where: isFree) { _ = begin(change) }
    return outcome
  }

  /// Ends the processes of links that are gone. A note exists from before the creation of a link until the link and its process are gone.
  func endMissingLinks(in kernel: KernelState, inProgress: Set<String>) {
    for link in platform.recoveryLog.unfinishedLinks().sorted() where !inProgress.contains(link) && kernel.link(named: link) == nil {
      platform.machine.endUserspaceLink(link)
      platform.recoveryLog.forgetLink(link)
    }
  }

  private func apply(_ steps: [Step], _ outcome: inout Outcome) {
    var rest = steps[...]
    while let stage = rest.first?.stage {
      let batch = rest.prefix { $0.stage == stage }
      rest = rest.dropFirst(batch.count)
      let failures = outcome.failures
      let free = failures.isEmpty ? Array(batch) : batch.filter { step in !failures.contains { step.builds(on: $0.step) } }
      if free.isEmpty { continue }
      let failed = platform.machine.apply(free)
      outcome.made += failed.isEmpty ? free : free.filter { step in !failed.contains { $0.step == step } }
      outcome.failures += failed
    }
    for case .deleteLink(let link, .userspace) in outcome.made { platform.machine.endUserspaceLink(link) }
  }
}

extension Step {
  /// The link that the step creates.
  fileprivate var addedLink: String? {
    switch self {
    case .addWireGuardLink(let link, _), .addTUNLink(let link, _), .addXFRMLink(let link, _), .addDummyLink(let link): link
    default: nil
    }
  }
}
