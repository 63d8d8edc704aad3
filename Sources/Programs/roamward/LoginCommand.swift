import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc
import JSON
import LinuxIO
import LoginProtocol
import NetworkTypes
import PolicyAuthoring
import PolicyFiles
import PolicyImport
import PolicySource
import ProviderProtocol
import RoamwardCore
import StatusDisplay
import Terminal

struct Login: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Create a policy for a gateway, and log in there.",
    discussion: """
      Takes the name of the gateway, or the link of its administrator or its page; with `-`, standard input begins with the link. Without a \
      link or --pin, the gateway is asked for its pin, which has to be confirmed at the terminal. If DNS has a signed TLSA record of the \
      pin, and a name server of this machine has validated it, the record decides, and nothing is asked. An invitation is a link with a \
      token, which stands for the password once. No file has it.

      The policy is up everywhere but on trusted networks (`roamward trust`). A policy for that gateway that is there already is used, with \
      another pin or user name if they are given. Then the questions of the gateway are asked at the terminal, or answered by the lines of \
      standard input.

      Exit status: 0 connected, or not wanted on this network; 1 refused; 3 no verdict, or a question without an answer; 8 the agent is not \
      running. The policy stays, unless nothing was written.

      Example: `roamward login alice@vpn.example.com`
      """)

  @OptionGroup var change: ChangeOptions
  @Argument(help: ArgumentHelp("Gateway as [user@]host[:port], or its link; `-`: read it.", valueName: "gateway")) var gateway: String
  @Option(help: ArgumentHelp("Pin of the gateway's logins (sha256//…).", valueName: "pin")) var pin: String?
  @Option(help: ArgumentHelp("Name of the tunnel.", valueName: "name")) var name: String?
  @Flag(help: "Show the policy and the steps without a change.") var dryRun = false

  func validate() throws {
    hideTokens()
    if gateway != "-" { _ = try target(gateway) }
    if let name, !isUsableTunnelName(name) {
      throw ValidationError("a tunnel's name is 1 to 64 letters, digits, `.`, `_` and `-`, not beginning with `.` or `-`")
    }
  }

  func run() throws {
    let target = try target(gateway == "-" ? asked("Link:") ?? "" : gateway)
    if change.policies == nil, !dryRun { _ = try change.agent.connect() }
    let before = try change.load()
    if let note = before.unreadNote, !before.unreadPolicies.isEmpty {
      throw Failure.refused("\(note)\n  help: run the command with sudo")
    }
    var isAsked = false
    let plan = try LoginPlan(target, named: name, in: before, change) { server in
      isAsked = true
      return try confirmedPin(of: server)
    }
    if !isAsked { warn(of: plan, isGiven: target.pin != nil) }
    let after = try plan.files.isEmpty ? before : change.load(with: plan.files)
    try check(plan, after, before)
    if dryRun { return show(plan) }
    if let old = plan.replacedPin, isInteractive {
      writeError("\(plan.path) has the pin\n  \(old)\nand gets\n  \(plan.wanted.pin)\n")
      guard confirmedInFull("Is the new one the pin that your administrator gave you?") else {
        throw Failure.refused(
          "the pin was not confirmed; nothing was changed\n  help: `roamward-gateway login show` at the gateway prints it")
      }
    }
    let dialog = QuestionDialog(agent: change.agent, tunnel: plan.wanted.tunnel, leavesOpen: true, token: target.token)
    guard change.policies == nil else {
      try put(plan)
      if target.token != nil { writeError("note: the token of the link is in no file: the next command asks for it\n") }
      return write("next: sudo roamward apply \(change.policies ?? "") && sudo roamward answer \(plan.wanted.tunnel)\n")
    }
    let client = try dialog.subscribe()
    try put(plan)
    let isNew = !plan.files.isEmpty
    var isUnused = false
    let outcome = try dialog.run(client) { client in
      // A new attempt begins by itself. One of a policy that was there may be waiting.
      var first = try dialog.next(client, after: nil, isFirst: true)
      if !isNew, case .failed = first { first = try dialog.resume(client) }
      if case .question = first {} else { isUnused = target.token != nil }
      return first
    }
    if isUnused { writeError("note: the gateway asked for no password: the link's token was not used\n") }
    try finish(outcome, plan)
  }

  // MARK: The gateway

  /// Takes tokens out of the arguments that other users of the machine see (ps, /proc).
  private func hideTokens() {
    let mark = "token="
    for index in 1..<Int(max(1, CommandLine.argc)) {
      guard let argument = CommandLine.unsafeArgv[index], var place = strstr(argument, mark).map({ $0 + mark.utf8.count }) else { continue }
      while place.pointee != 0, place.pointee != CChar(UInt8(ascii: "&")) {
        place.pointee = CChar(UInt8(ascii: "x"))
        place += 1
      }
    }
  }

  private func target(_ text: String) throws -> LoginTarget {
    let target: LoginTarget
    do throws(LoginTargetFault) { target = try LoginTarget(text) } catch { throw ValidationError("\(error)") }
    guard let pin else { return target }
    guard let given = GatewayPin(pin) else {
      throw ValidationError("--pin takes `sha256//` and 44 characters of base64, as `roamward-gateway login show` prints them")
    }
    if let linked = target.pin, linked != given { throw ValidationError("the link has another pin than --pin; which one is right?") }
    return LoginTarget(server: target.server, user: target.user, pin: given, token: target.token) ?? target
  }

  /// The pin that the gateway shows, once DNS or the person has confirmed it.
  private func confirmedPin(of server: Endpoint) throws -> GatewayPin {
    let published = PublishedPins.read(of: server, onlyTrusted: false)
    let isSigned = if case .validated = published { true } else { false }
    guard isInteractive || dryRun || isSigned else {
      if case .none(let note?) = published { writeError("note: \(note)\n") }
      throw Failure.refused(
        "the pin of \(server) has to be confirmed, and there is no terminal\n  help: give the pin of the gateway's administrator: --pin PIN"
      )
    }
    let pin = try PresentedPin.read(of: server)
    switch published.judgement(of: pin, of: server) {
    case .confirmed: writeError("\(server) shows the pin that its signed TLSA record in DNS has\n  \(pin)\n")
    case .open(let note):
      if let note { writeError("note: \(note)\n") }
      try confirm(pin, of: server)
    case .refused(let reason): throw Failure.refused(reason)
    }
    return pin
  }

  private func confirm(_ pin: GatewayPin, of server: Endpoint) throws {
    writeError("\(server) shows the pin\n  \(pin)\n")
    if dryRun {
      writeError("note: it is not confirmed\n")
    } else if !confirmedInFull("Is this the pin that your administrator gave you?") {
      throw Failure.refused(
        "the pin was not confirmed; nothing was changed\n  help: `roamward-gateway login show` at the gateway prints it")
    }
  }

  /// A pin that was given, or that a policy has, counts. A note says if DNS has another one.
  private func warn(of plan: LoginPlan, isGiven: Bool) {
    let (server, pin) = (plan.wanted.server, GatewayPin(plan.wanted.pin))
    let published = PublishedPins.read(of: server, onlyTrusted: true)
    guard let pin, let note = published.note(on: pin, of: server, isGiven: isGiven) else { return }
    writeError("note: \(note)\n")
  }

  // MARK: The policy

  /// Throws if the files would change more than this tunnel, or another setting of it.
  private func check(_ plan: LoginPlan, _ after: LoadedPolicies, _ before: LoadedPolicies) throws {
    let own = Set(plan.files.map { "\(change.layers.last ?? ".")/\($0.name)" })
    let errors = after.diagnostics.filter { $0.severity == .error && own.contains($0.location.file) }
    if !errors.isEmpty {
      for diagnostic in errors { writeError(diagnostic.rendered(color: usesColor) + "\n") }
      let isMissing = errors.contains { $0.message.contains("\"\(GatewayTunnel.provider)\"") }
      writeError("roamward: nothing was changed\(isMissing ? "; the package roamward-client has the provider" : "")\n")
      throw ExitStatus.policyErrors
    }
    let others = { (policies: PolicySet) in GatewayTunnel.all(in: policies).filter { $0.tunnel != plan.wanted.tunnel } }
    let found = GatewayTunnel.all(in: after.policies).first { $0.tunnel == plan.wanted.tunnel }
    guard found?.pin == plan.wanted.pin, found?.username == plan.wanted.username, found?.server == plan.wanted.server,
      others(after.policies).map(\.pin) == others(before.policies).map(\.pin)
    else { throw plan.unchangeable("more than this tunnel would change") }
  }

  private func show(_ plan: LoginPlan) {
    for file in plan.files { write("\(change.layers.last ?? ".")/\(file.name):\n\(String(decoding: file.bytes, as: UTF8.self))\n") }
    write(plan.summary.map { $0 + "\n" }.joined())
    write("then: \(plan.wanted.tunnel) connects, and the gateway's questions are asked here\na dry run: nothing was changed\n")
  }

  private func put(_ plan: LoginPlan) throws {
    if !plan.files.isEmpty { try change.put(plan.files) }
    write(plan.summary.map { $0 + "\n" }.joined())
  }

  // MARK: The end

  private func finish(_ outcome: QuestionDialog.Outcome, _ plan: LoginPlan) throws {
    let tunnel = plan.wanted.tunnel
    let rest = "the policy \(plan.path) stays: `roamward answer \(tunnel)` goes on, and without that file the tunnel is gone"
    switch outcome {
    case .connected: try showConnected(tunnel)
    case .resting(let reason):
      write("\(tunnel): not connected here: \(reason); it connects, and asks, where its rules want it\n")
    case .declined:
      writeError("roamward: \(tunnel): the question was declined\nnote: \(rest)\n")
      throw ExitStatus.refused
    case .refused:
      writeError("note: \(rest)\n")
      throw ExitStatus.refused
    case .unanswered:
      writeError("roamward: \(tunnel): there is no terminal, and no answer on standard input; the question stays open\nnote: \(rest)\n")
      throw ExitStatus.timedOut
    case .silent(let reason):
      writeError("roamward: \(tunnel): no verdict yet: \(reason); `roamward status \(tunnel)` shows more\nnote: \(rest)\n")
      throw ExitStatus.timedOut
    case .interrupted:
      writeError("\nroamward: \(tunnel): interrupted; \(rest)\n")
      throw ExitStatus.interrupted
    }
  }

  /// The tunnel's section of the status, and the gateway's word on who is logged in.
  private func showConnected(_ tunnel: String) throws {
    let terminal = OutputTerminal()
    let lines = StatusText(try change.agent.status(), localTime: \.localTime).lines(ofTunnel: tunnel) ?? []
    writeRaw(lines.rendered(width: terminal?.columns, isColored: terminal?.isColored ?? false))
    guard let status = gatewaysWord(on: tunnel), let user = status["user"]?.string, let device = status["device"]?.string else { return }
    let gateway = status["gateway"]?.string ?? status["endpoint"]?.string ?? ""
    write("  login:   \(user), device \(device), at the gateway \(gateway)\n")
  }
  /// The provider's status; `nil`: it did not answer soon.
  private func gatewaysWord(on tunnel: String) -> JSON? {
    guard let client = try? ControlClient(path: change.agent.socket),
      let reply = try? client.ask(.message(tunnel: tunnel, content: MessageContent.typed("status", .null).json), within: .seconds(2)),
      let content = reply["content"], case .typed(_, let status) = try? MessageContent(json: content)
    else { return nil }
    return status
  }
}
