import KernelModel
internal import NetworkTypes

/// The input for one guard's desired state: the guard, and its links as the kernel shows them.
package struct GuardSetup: Equatable, Sendable {
  package var guarded: ProgramGuard
  package var links: [String]

  package init(guarded: ProgramGuard, links: [String] = []) {
    self.guarded = guarded
    self.links = links
  }
}

extension KillSwitchMachine {
  /// The active guards. A suspended kill switch suspends them too.
  package func guards(in observed: ObservedState?) -> [GuardSetup] {
    if let suspension, !suspension.isPortal { return [] }
    return allGuards(in: observed)
  }

  package func allGuards(in observed: ObservedState?) -> [GuardSetup] {
    let links = observed?.kernel.links.filter { !(observed?.unfinishedLinks.contains($0.name) ?? false) } ?? []
    return programs.map { program in GuardSetup(guarded: program, links: links.filter(program.owns).map(\.name).sorted()) }
  }
}
