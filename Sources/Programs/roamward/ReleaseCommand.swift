import AgentCore
import ArgumentParser
import ControlProtocol
import Glibc
import JSON
import LinuxAgent
import LinuxIO
import LinuxPlatform
import Terminal

struct Release: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "release",
    abstract: "Suspend the kill switch, or open a portal window.",
    discussion: """
      The suspension lasts until the network changes, or as --for or --until say. `roamward resume` re-enables the kill switch.

      --portal opens only the web and DNS, to sign in at a captive portal: for ten minutes at most, and until the tunnels are up. --only \
      limits the window to the control group of one process; `systemd-run --user --scope firefox` starts a browser in its own control \
      group.

      --sign-in does the same for the page that a tunnel's provider shows (`roamward status`): only the web server of that page and those \
      of --host and of the policy (`sign-in: { hosts: … }`) are open, and only until the person has signed in.

      Without --portal and --sign-in, it also ends the guards of programs whose `roamward guard` was killed, for good.

      The journal records the caller. If no agent is running, the firewall table is removed, as `roamwardd --release` does.

      Example: `roamward release --portal --for 5m`
      """)

  @OptionGroup var agent: AgentOptions
  @Flag(help: "Open only the web and DNS, for a captive portal.") var portal = false
  @Option(help: ArgumentHelp("Open only the page of this tunnel's sign-in.", valueName: "tunnel"), completion: .tunnels) var signIn: String?
  @Option(help: ArgumentHelp("With --sign-in: open this server too; repeatable.", valueName: "name")) var host: [String] = []
  @Option(help: ArgumentHelp("With --portal: only for this process's control group.", valueName: "pid")) var only: Int32?
  @Option(name: .customLong("for"), help: ArgumentHelp("Suspend for this long: 5m, 1h.", valueName: "duration")) var duration: String?
  @Option(help: ArgumentHelp("Suspend until network-change (default) or resume.", valueName: "end")) var until: OverrideOptions.End?
  @Option(help: ArgumentHelp("Set the reason that `status` shows.", valueName: "text")) var reason: String?

  func validate() throws {
    if signIn != nil, portal || only == nil { throw ValidationError("--sign-in needs --only, and excludes --portal") }
    if !host.isEmpty, signIn == nil { throw ValidationError("--host names a server of a sign-in; add --sign-in") }
    if only != nil, !portal, signIn == nil { throw ValidationError("--only limits a portal window; add --portal") }
    if duration != nil, until != nil { throw ValidationError("--for and --until exclude each other; use one of them") }
    if let duration, (seconds(duration) ?? 0) < 1 { throw ValidationError("--for takes a duration of at least a second: 5m, 1h") }
  }

  func run() throws {
    if !agent.isAnswering, !portal, signIn == nil, duration == nil, until == nil { return try releaseWithoutAgent() }
    let length = duration.flatMap(seconds)
    let end: Lifetime = length.map { .time(lasting($0)) } ?? (until == .resume ? .resume : .networkChange)
    let programs = try only.map(ownControlGroup)
    let request = ReleaseRequest(
      isPortal: portal || signIn != nil, programs: programs, signIn: signIn, hosts: host.isEmpty ? nil : host, until: end, reason: reason)
    let reply = try agent.ask(.release(request))
    let what = signIn.map { "the page of \($0)" } ?? (portal ? "the web and DNS" : nil)
    let whose = what.map { " for \($0)" + (programs.map { " of the programs in \($0)" } ?? "") } ?? ""
    if let ended = try? reply.decoded(as: ReleaseReply.self) {
      for program in ended.endedGuards { write("\(program) has ended\n") }
      if !ended.isSuspended { return }
    }
    write("kill switch suspended\(whose); `roamward resume` re-enables it\n")
    for reason in reply["left-out"]?.array ?? [] { writeError("roamward: left out of the policy's hosts: \(reason.string ?? "")\n") }
  }

  /// Removes the table; no agent is running that would restore it.
  private func releaseWithoutAgent() throws {
    try requireRoot("to suspend the kill switch")
    do throws(PlatformError) {
      try releaseMachine()
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
    write(
      "kill switch suspended: no agent is running, its table is removed; with `kill-switch: always`, or a guard that was killed, the next "
        + "start blocks again\n")
  }

  /// The control group of a process; refuses the root group and that of this session.
  private func ownControlGroup(of process: Int32) throws -> String {
    func fail(_ why: String) -> any Error {
      writeError("roamward: \(why)\nhelp: `systemd-run --user --scope COMMAND` starts a program in its own control group\n")
      return ExitStatus.refused
    }
    guard let group = controlGroup(of: process) else { throw fail("no process \(process), or this system has no cgroup v2") }
    if group == "/" { throw fail("process \(process) is in the control group of the whole machine") }
    if group == controlGroup(of: getpid()) { throw fail("process \(process) is in the control group of this session, \(group)") }
    return group
  }
}
