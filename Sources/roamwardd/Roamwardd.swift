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
    abstract: "Run the Roamward agent in the foreground.",
    discussion: """
      Logs to standard error. Reloads the policies when a file changes, and on SIGHUP. SIGTERM takes every tunnel down and stops the \
      agent. Needs CAP_NET_ADMIN.
      """,
    version: "0.1.0")

  @Option(
    help: ArgumentHelp(
      "Read policies from this folder or file; repeatable.", discussion: "Later ones override earlier ones.", valueName: "path"))
  var policies: [String] = PolicyLayers.standard
  @Option(help: ArgumentHelp("Keep state that must survive a crash here.", valueName: "folder")) var stateDir = "/var/lib/roamward"
  @Option(help: ArgumentHelp("Path of the local socket.", valueName: "path")) var socket = "/run/roamward/control.sock"
  @Option(help: ArgumentHelp("Read the current SSID from this file.", valueName: "file"))
  var ssidFile: String?
  @Option(help: ArgumentHelp("Path of resolv.conf.", valueName: "file")) var resolvConf = "/etc/resolv.conf"
  @Option(help: ArgumentHelp("Wait this long after a network change: 500ms, 2s.", valueName: "duration")) var settle = "500ms"
  @Option(
    help: ArgumentHelp(
      "Check internet access and captive portals with this URL.", discussion: "An http:// URL. Used only if a rule needs it.",
      valueName: "url"))
  var connectivityCheck: String?
  @Option(help: ArgumentHelp("Expect status 200 and this prefix, instead of status 204.", valueName: "text"))
  var connectivityContent: String?
  @Option(
    help: ArgumentHelp(
      "Set the log level.", discussion: "trace, debug, info, notice, warning, error or critical.", valueName: "level"))
  var logLevel = "info"
  @Flag(help: "Remove leftover state, but keep kill switch rules; exit.") var cleanup = false
  @Flag(help: "With --cleanup: print the steps without executing them.") var dryRun = false
  @Flag(help: "Enable `kill-switch: always` before the network; exit.") var lock = false
  @Flag(help: "Suspend the kill switch without an agent; exit.") var release = false

  func validate() throws {
    if dryRun, !cleanup { throw ValidationError("--dry-run needs --cleanup; `roamward plan` shows the agent's steps") }
    guard duration(settle) != nil else { throw ValidationError("--settle takes a duration such as 500ms or 2s") }
    if let connectivityCheck, URLParts(connectivityCheck).map(\.isSecure) ?? true {
      throw ValidationError("--connectivity-check takes an http:// URL: a captive portal is not detected over https")
    }
    if connectivityContent != nil, connectivityCheck == nil { throw ValidationError("--connectivity-content needs --connectivity-check") }
    guard Logger.Level(rawValue: logLevel) != nil else {
      throw ValidationError("unknown log level \"\(logLevel)\"; use trace, debug, info, notice, warning, error or critical")
    }
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
        // A closed pipe is not an error; a full disk is.
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
  "CAP_NET_ADMIN is missing: user \(geteuid()) may not change the network; run it as root (systemctl start roamwardd)"
}

/// `500ms`, `2s`.
private func duration(_ text: String) -> Duration? {
  if text.hasSuffix("ms"), let number = Int(text.dropLast(2)), number >= 0 { return .milliseconds(number) }
  if text.hasSuffix("s"), let number = Int(text.dropLast()), number >= 0 { return .seconds(number) }
  return nil
}
