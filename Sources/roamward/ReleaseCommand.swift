import AgentCore
import AgentDaemon
import ArgumentParser
import ControlProtocol
import Glibc
import LinuxIO
import LinuxPlatform

struct Release: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Opens the firewall: what a kill switch holds back flows again.",
    discussion: """
      Lasts until the network changes, or as long as --for or --until say; `roamward resume` ends it. With --portal only the web and DNS are \
      open, for a captive portal, for ten minutes at most, and until the tunnels are up. With --only they are open to one program alone, and what is \
      in its control group; a browser gets one of its own by `systemd-run --user --scope firefox`. The journal says who asked for it. \
      Without an agent everything is opened, as by `roamwardd --release`.
      """)

  @OptionGroup var agent: AgentOptions
  @Flag(help: "Only the web and DNS, for a captive portal.") var portal = false
  @Option(help: ArgumentHelp("With --portal: only for this process and its control group.", valueName: "pid")) var only: Int32?
  @Option(name: .customLong("for"), help: ArgumentHelp("How long: 5m, 1h.", valueName: "duration")) var duration: String?
  @Option(help: ArgumentHelp("network-change (the default) or resume.", valueName: "end")) var until: OverrideOptions.End?
  @Option(help: ArgumentHelp("Why; shown by `status`.", valueName: "text")) var reason: String?

  func validate() throws {
    if only != nil, !portal { throw ValidationError("--only says who a portal is opened to; give --portal as well") }
    if duration != nil, until != nil { throw ValidationError("--for and --until are two ends; give one") }
    if let duration, (seconds(duration) ?? 0) < 1 { throw ValidationError("--for takes a duration of a second or more: 5m, 1h") }
  }

  func run() throws {
    if !agent.isAnswering, !portal, duration == nil, until == nil { return try releaseWithoutAgent() }
    let length = duration.flatMap(seconds)
    let end: Lifetime = length.map { .time(lasting($0)) } ?? (until == .resume ? .resume : .networkChange)
    let programs = try only.map(ownControlGroup)
    _ = try agent.ask(.release(ReleaseRequest(isPortal: portal, programs: programs, until: end, reason: reason)))
    let what = portal ? " for the web and DNS" + (programs.map { " of the programs in \($0)" } ?? "") : ""
    write("the firewall is open\(what); `roamward resume` closes it\n")
  }

  /// The table goes, and there is nobody who would put it up again.
  private func releaseWithoutAgent() throws {
    try requireRoot("to open the firewall")
    do throws(PlatformError) {
      try releaseMachine()
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
    write("the firewall is open: no agent answers, and its table is removed; with `kill-switch: always` the next start blocks again\n")
  }

  /// The control group of a process, where that is not the one of everything, or of this session.
  private func ownControlGroup(of process: Int32) throws -> String {
    func fail(_ why: String) -> any Error {
      writeError("roamward: \(why)\nhelp: systemd-run --user --scope COMMAND starts a program in a control group of its own\n")
      return ExitStatus.refused
    }
    guard let group = controlGroup(of: process) else { throw fail("there is no process \(process), or no control groups of version 2") }
    if group == "/" { throw fail("process \(process) is in the control group of the whole machine") }
    if group == controlGroup(of: getpid()) { throw fail("process \(process) is in the control group of this session, \(group)") }
    return group
  }
}
