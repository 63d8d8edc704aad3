package import ControlProtocol
import KernelModel
import NetworkTypes
package import RoamwardCore

extension StatusReport.Guard {
  package init(_ setup: GuardSetup, usage: StatusReport.Usage?) {
    let guarded = setup.guarded
    self.init(
      process: Int(guarded.process), program: guarded.program, since: guarded.since, endpoints: guarded.endpoints.map(\.description),
      link: guarded.link, links: setup.links, lastLinkBefore: Int64(guarded.lastLinkBefore),
      group: .init(number: Int64(bitPattern: guarded.group.number), level: guarded.group.level), heldSince: guarded.heldSince,
      usage: usage)
  }
}

extension ProgramGuard {
  /// The guard that a report describes.
  package init(_ report: StatusReport.Guard) {
    self.init(
      process: Int32(clamping: report.process), program: report.program, since: report.since,
      endpoints: report.endpoints.compactMap { GuardedEndpoint($0) }, link: report.link,
      lastLinkBefore: UInt32(clamping: report.lastLinkBefore),
      group: ProviderGroup(number: UInt64(bitPattern: report.group.number), level: report.group.level), heldSince: report.heldSince)
  }
}
