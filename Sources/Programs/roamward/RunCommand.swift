import ArgumentParser
import ControlProtocol
import Glibc
import JSON
import LinuxIO
import NetworkTypes
import Terminal

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run a program through one tunnel, or outside.",
    discussion: """
      --through: all packets of the program leave by this tunnel, whatever its policy includes, or not at all. That holds from its first \
      packet on, also while the tunnel is down and after the agent was killed. The packets of other programs go where they went.

      --outside: the program uses no tunnel, and passes kill switches. If a policy has a kill switch, this needs the right to suspend it.

      --isolated: the program sees nothing of this machine's network either: neither the local network, nor services of this machine, nor \
      its abstract sockets (X11, some of D-Bus). It has a link of its own, whose packets leave by the tunnel alone, and names by the \
      tunnel's servers. All that it starts ends with it. Needs `pasta` (the package passt).

      Without --through and --outside, the policies decide: `apps` of a tunnel names the program's file.

      Both hold for all that the program starts, also in the background, and end with the last of it. The program is run as you, in your \
      session, and its exit status is that of this command; 126 and 127 say that it cannot be executed. A program that already runs \
      cannot be moved, and a browser may hand a page to one that runs: end it first.

      Its names are looked up where its packets go. Where programs ask systemd-resolved or nscd by a socket, that socket is hidden from it; \
      then it cannot become another user (`sudo`), unless root runs this command.

      Example: `roamward run --through corp -- curl https://git.corp.example`

      Example: `roamward run --through corp --isolated -- bash`

      Example: `roamward run --outside -- speedtest`
      """)

  @OptionGroup var agent: AgentOptions
  @OptionGroup var session: SessionOptions
  @Option(help: ArgumentHelp("Tunnel that all packets leave by.", valueName: "tunnel"), completion: .tunnels) var through: String?
  @Flag(help: "Let packets leave outside of every tunnel.") var outside = false
  @Flag(help: "Show the program nothing of this machine's network.") var isolated = false
  @Option(help: ArgumentHelp("Continue in the namespace, for this user and group.", visibility: .hidden))
  var inside: String?
  @Flag(help: "Bring the tunnel up first, as `up` does.") var up = false
  @Option(help: ArgumentHelp("With --up, wait at most this long (30s).", valueName: "duration")) var wait: WaitLimit = .usual
  @Argument(parsing: .postTerminator, help: "The program and its arguments, after --.") var program: [String]

  func validate() throws {
    if through != nil, outside { throw ValidationError("--through and --outside exclude each other; use one of them") }
    if isolated, outside { throw ValidationError("--isolated is for programs of a tunnel; leave out --outside") }
    if up, through == nil { throw ValidationError("--up is for --through") }
    if program.isEmpty { throw ValidationError("name the program after --: roamward run --through corp -- curl https://example.com") }
  }

  func run() throws {
    if let inside { throw ExitCode(try IsolatedProgram.runInside(inside, program[0], Array(program.dropFirst()))) }
    let path = try executable(program[0], butSo: "nothing was started")
    if isolated { try IsolatedProgram.check() }
    if let manager = groupingManager(of: path) {
      throw Failure.refused(
        "\(program[0]) is started by \(manager), which moves it out of every control group: its packets would leave by the usual route;"
          + " use a package of the program that needs no \(manager)")
    }
    if up, let through { try bringUp(through) }
    let named = through == nil && !outside ? policyPath(of: path) : nil
    let request = RunRequest(program: shortName(program[0]), tunnel: through, path: named, namespace: ownNetworkNamespace ?? 0)
    let reply: RunReply
    do {
      reply = try agent.ask(.run(request)).decoded()
    } catch let error as JSONMismatch {
      writeError("roamward: the agent's answer cannot be read: \(error)\n")
      throw ExitStatus.refused
    }
    if isolated {
      guard let link = reply.link else {
        throw Failure.refused("the policies keep \(program[0]) outside; name its tunnel: --through TUNNEL")
      }
      throw ExitCode(try IsolatedProgram(path: path, arguments: program, link: link).run())
    }
    if let (paths, error) = HiddenResolvers.hide() {
      throw Failure.refused(
        "\(program[0]) does not start, because its names would be looked up as those of all programs, by \(paths.joined(separator: " and ")):"
          + " cannot \(error); cure: `sudo roamward run`, or a kernel that permits user namespaces")
    }
    let error = become(path, program)
    writeError("roamward: cannot \(error)\n")
    throw ExitCode(error.code == ENOENT ? 127 : 126)
  }

  /// Connects the tunnel, unless it is: then nothing of its override changes.
  private func bringUp(_ tunnel: String) throws {
    let report = try agent.status().tunnels.first { $0.name == tunnel }
    if let report, ["connected", "reasserting", "armed"].contains(report.state) { return }
    _ = try agent.ask(
      .override(tunnel: tunnel, OverrideRequest(wantsUp: true, until: .networkChange, reason: "roamward run", sessions: session.sessions)))
    try waitFor("connected", of: [tunnel], seconds: wait.seconds, agent)
  }
}
