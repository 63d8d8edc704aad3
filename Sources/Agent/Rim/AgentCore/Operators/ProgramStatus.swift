package import ControlProtocol
import KernelModel
import NetworkTypes
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

extension EndedProgramsReport {
  /// `nil`: they had no tunnel.
  init?(_ ended: EndedPrograms, time: (Moment) -> Timestamp) {
    guard let tunnel = ended.group.route.tunnel else { return nil }
    self.init(tunnel: tunnel, mark: "0x" + String(ended.group.route.mark, radix: 16), until: time(ended.until))
  }
}

extension ProgramRoute {
  /// The route that a report describes; `nil`: its mark is none of this version.
  init?(through tunnel: String, mark: String) {
    guard let mark = UInt32(mark.dropFirst(2), radix: 16), mark & Ownership.programMask == Ownership.programMark(0) else { return nil }
    self = .through(tunnel, number: mark & 0xffff)
  }
}

extension ProgramGroup {
  /// The group that a report describes; `nil`: its mark is none of this version.
  package init?(_ report: ProgramReport) {
    let through = report.tunnel.map { ProgramRoute(through: $0, mark: report.mark) }
    guard let route = through ?? .outside else { return nil }
    self.init(
      path: report.group, group: ProviderGroup(number: UInt64(bitPattern: report.cgroup.number), level: report.cgroup.level), route: route,
      user: UInt32(clamping: report.user))
  }
}
