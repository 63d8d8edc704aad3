import ArgumentParser
import ControlProtocol
import JSON
import StatusDisplay
import Terminal

struct Up: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "up",
    abstract: "Bring a tunnel up, overriding its rules.",
    discussion: """
      The manual override lasts until the network changes, or as --for or --until say. `roamward resume` ends it.

      --option and --username give the tunnel's provider options, which come before those of the policy and end with the manual \
      override. A password is for the next start alone, and is in the agent's memory only. Users other than root may give what \
      `start-options` of the policy names.

      Example: `roamward up corp --for 2h --reason "the printer"`

      Example: `roamward up office --username alice --ask-password`
      """)

  @OptionGroup var options: OverrideOptions
  @OptionGroup var start: StartArguments

  func run() throws { try options.run(wantsUp: true, start: try start.options()) }
}

struct Down: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "down",
    abstract: "Take a tunnel down, overriding its rules.",
    discussion: """
      The manual override lasts until the network changes, or as --for or --until say. `roamward resume` ends it.

      Example: `roamward down corp --until resume`
      """)

  @OptionGroup var options: OverrideOptions

  func run() throws { try options.run(wantsUp: false) }
}

struct Resume: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "End manual overrides; re-enable the kill switch.",
    discussion: "Example: `roamward resume corp`")

  @OptionGroup var agent: AgentOptions
  @Argument(help: "Name of the tunnel or group; without one, all tunnels.", completion: .tunnels) var tunnel: String?

  func run() throws {
    _ = try agent.ask(.resume(tunnel: tunnel))
    write("\(tunnel ?? "every tunnel") follows its rules\n")
  }
}

/// The longest wait of a command for a tunnel.
struct WaitLimit: ExpressibleByArgument, CustomStringConvertible {
  static let usual = WaitLimit(seconds: 30, description: "30s")

  let seconds: Double
  let description: String

  private init(seconds: Double, description: String) { (self.seconds, self.description) = (seconds, description) }

  init?(argument: String) {
    guard let seconds = roamward.seconds(argument) else { return nil }
    self.init(seconds: seconds, description: argument)
  }
}

struct OverrideOptions: ParsableArguments {
  enum End: String, ExpressibleByArgument, CaseIterable {
    case networkChange = "network-change"
    case resume
  }

  @OptionGroup var agent: AgentOptions
  @OptionGroup var session: SessionOptions
  @Argument(help: "Name of the tunnel or group.", completion: .tunnels) var tunnel: String
  @Option(name: .customLong("for"), help: ArgumentHelp("Override for this long: 30m, 2h.", valueName: "duration")) var duration: String?
  @Option(help: ArgumentHelp("Override until network-change (default) or resume.", valueName: "end")) var until: End?
  @Option(help: ArgumentHelp("Set the reason that `status` shows.", valueName: "text")) var reason: String?
  @Option(
    defaultAsFlag: WaitLimit.usual,
    help: ArgumentHelp("Wait for the new state, at most this long (30s).", valueName: "duration"))
  var wait: WaitLimit?

  func validate() throws {
    if duration != nil, until != nil { throw ValidationError("--for and --until exclude each other; use one of them") }
    if let duration, (seconds(duration) ?? 0) < 1 { throw ValidationError("--for takes a duration of at least a second: 30m, 2h") }
  }

  func run(wantsUp: Bool, start: StartOptions? = nil) throws {
    let length = duration.flatMap(seconds)
    let end: Lifetime = length.map { .time(lasting($0)) } ?? (until == .resume ? .resume : .networkChange)
    let request = OverrideRequest(wantsUp: wantsUp, until: end, reason: reason, sessions: session.sessions)
    let reply = try agent.ask(
      start.map { .start(tunnel: tunnel, request, $0) } ?? .override(tunnel: tunnel, request),
      progress: "\(tunnel): \(wantsUp ? "starting" : "stopping")")
    write("\(tunnel): manual override (\(wantsUp ? "up" : "down")) \(text(end)); `roamward resume \(tunnel)` ends it\n")
    let members = reply["tunnels"]?.array?.compactMap(\.string) ?? [tunnel]
    if let wait { try waitFor(wantsUp ? "connected" : "disconnected", of: members, all: !wantsUp, seconds: wait.seconds, agent) }
  }

  private func text(_ end: Lifetime) -> String {
    switch end {
    case .networkChange: "until the network changes"
    case .resume: "until it is resumed"
    case .time(let duration): "for \(age(duration))"
    }
  }
}
