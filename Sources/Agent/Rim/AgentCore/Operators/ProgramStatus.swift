package import ControlProtocol
import KernelModel
package import RoamwardCore

extension ProgramReport {
  /// `link`: that of the tunnel, which is up.
  package init(_ program: ProgramGroup, link: String?, usage: StatusReport.Usage?) {
    self.init(
      group: program.path, tunnel: program.route.tunnel, link: link, mark: "0x" + String(program.route.mark, radix: 16),
      user: Int(program.user), usage: usage,
      cgroup: .init(number: Int64(bitPattern: program.group.number), level: program.group.level))
  }
}

extension ProgramGroup {
  /// The group that a report describes; `nil`: its mark is none of this version.
  package init?(_ report: ProgramReport) {
    var route = ProgramRoute.outside
    if let tunnel = report.tunnel {
      guard let mark = UInt32(report.mark.dropFirst(2), radix: 16), mark & Ownership.programMask == Ownership.programMark(0) else {
        return nil
      }
      route = .through(tunnel, number: mark & 0xffff)
    }
    self.init(
      path: report.group, group: ProviderGroup(number: UInt64(bitPattern: report.cgroup.number), level: report.cgroup.level), route: route,
      user: UInt32(clamping: report.user))
  }
}
