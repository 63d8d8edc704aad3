import AgentCore
import AgentDaemon
import ArgumentParser
import Glibc
import LinuxIO
import LinuxPlatform
import Logging
import NetworkTypes
import RoamwardCore

@main
struct Roamwardd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "roamwardd",
    abstract: "The agent: keeps this machine on the tunnel that its policies want.",
    discussion: """
      Runs in the foreground and logs to standard error. SIGHUP reads the policies again, which also happens by itself when a file changes; \
      SIGTERM takes every tunnel down and ends. Needs CAP_NET_ADMIN.
      """,
    version: "0.1.0")

  @Option(help: ArgumentHelp("A folder of policies, or one file; repeatable, later ones beat earlier ones.", valueName: "path"))
  var policies: [String] = PolicyLayers.standard
  @Option(help: ArgumentHelp("Where it keeps what has to outlive a crash.", valueName: "folder")) var stateDir = "/var/lib/roamward"
  @Option(help: ArgumentHelp("Its local socket.", valueName: "path")) var socket = "/run/roamward/control.sock"
  @Option(help: ArgumentHelp("A file, written by something else, with the SSID of the network the machine is on.", valueName: "file"))
  var ssidFile: String?
  @Option(help: ArgumentHelp("The resolver's file.", valueName: "file")) var resolvConf = "/etc/resolv.conf"
  @Option(help: ArgumentHelp("How long a change of the network is left to settle: 500ms, 2s.", valueName: "duration")) var settle = "500ms"
  @Option(
    help: ArgumentHelp(
      "Where to ask whether there is internet or a captive portal in between, for rules that want to know: a URL of plain http.",
      valueName: "url"))
  var connectivityCheck: String?
  @Option(help: ArgumentHelp("How the check's answer begins, with status 200; otherwise it has to be a 204.", valueName: "text"))
  var connectivityContent: String?
  @Option(help: ArgumentHelp("trace, debug, info, notice, warning, error or critical.", valueName: "level")) var logLevel = "info"
  @Flag(help: "Remove what a killed agent has left, but for what its firewall holds back, and end.") var cleanup = false
  @Flag(help: "With --cleanup: print what would be done, and do nothing.") var dryRun = false
  @Flag(help: "Hold back what policies with `kill-switch: always` guard, before there is a network, and end.") var lock = false
  @Flag(help: "Let everything flow that the firewall holds back, without an agent, and end.") var release = false

  func validate() throws {
    if dryRun, !cleanup { throw ValidationError("--dry-run goes with --cleanup; `roamward plan` shows what an agent would do") }
    guard duration(settle) != nil else { throw ValidationError("--settle takes a duration such as 500ms or 2s") }
    if let connectivityCheck, URLParts(connectivityCheck).map(\.isSecure) ?? true {
      throw ValidationError("--connectivity-check takes an http:// URL: a portal cannot step into https, so it would not be seen")
    }
    if connectivityContent != nil, connectivityCheck == nil { throw ValidationError("--connectivity-content needs --connectivity-check") }
    guard Logger.Level(rawValue: logLevel) != nil else { throw ValidationError("--log-level does not know \"\(logLevel)\"") }
  }

  func run() throws {
    var settings = AgentSettings()
    settings.policyLayers = policies
    settings.stateDirectory = stateDir
    settings.socket = socket
    settings.ssidFile = ssidFile
    settings.resolvConf = resolvConf
    settings.settle = duration(settle) ?? settings.settle
    settings.connectivityCheck = connectivityCheck.map { ConnectivityCheck(url: $0, content: connectivityContent) }
    let level = Logger.Level(rawValue: logLevel) ?? .info
    let logger = Logger(label: "roamwardd") { _ in LogfmtLogHandler(level: level) }
    Privileges.forbidDumps()
    guard Privileges.canChangeNetwork else {
      logger.critical("roamwardd cannot run", metadata: ["reason": "\(lackOfPrivileges)"])
      throw ExitCode(EX_NOPERM)
    }
    do {
      if lock { return try lockFirewall(settings, logger: logger) }
      if release { return try releaseFirewall(logger: logger) }
      if cleanup, dryRun {
        let machine = try LinuxMachine(ssidFile: nil, resolvConf: resolvConf, stateDirectory: stateDir)
        for line in try machine.cleanupForecast(stateDirectory: stateDir, socket: socket) { print(escaped(line)) }
        // A reader that closes the pipe early is no error; a full disk is one.
        if fflush(nil) != 0, errno != EPIPE { throw ExitCode(1) }
        return
      }
      let daemon = try Daemon(settings, logger: logger)
      throw ExitCode(cleanup ? try daemon.cleanUp() : try daemon.run())
    } catch let error as PlatformError {
      logger.critical("roamwardd cannot run", metadata: ["reason": "\(error)"])
      throw ExitCode(1)
    }
  }
}

private var lackOfPrivileges: String {
  "CAP_NET_ADMIN is missing: user \(geteuid()) may not change this network; start it as root (systemctl start roamwardd)"
}

/// `500ms`, `2s`.
private func duration(_ text: String) -> Duration? {
  if text.hasSuffix("ms"), let number = Int(text.dropLast(2)), number >= 0 { return .milliseconds(number) }
  if text.hasSuffix("s"), let number = Int(text.dropLast()), number >= 0 { return .seconds(number) }
  return nil
}
