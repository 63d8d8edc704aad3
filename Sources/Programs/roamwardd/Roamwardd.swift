import AgentCore
import AgentDaemon
import ControlProtocol
import Glibc
import LinuxAgent
import LinuxIO
import LinuxPlatform
import Logging
import NetworkTypes
import RoamwardCore

@main
enum Roamwardd {
  static func main() {
    do throws(Options.Mistake) {
      let options = try Options(CommandLine.arguments.dropFirst())
      if options.help { finish(print: Options.usage) }
      if options.version { finish(print: releaseVersion + "\n") }
      try check(options)
      exit(run(options))
    } catch {
      let text = "Error: \(escaped(error.description))\nUsage: roamwardd [<options>]\n  See 'roamwardd --help' for more information.\n"
      _ = Array(text.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
      exit(EX_USAGE)
    }
  }

  private static func finish(print text: String) -> Never {
    print(text, terminator: "")
    exit(writesAll() ? 0 : 1)
  }

  /// A closed pipe is not an error; a full disk is.
  private static func writesAll() -> Bool { fflush(nil) == 0 || errno == EPIPE }

  private static func check(_ options: Options) throws(Options.Mistake) {
    func refuse(_ text: String) -> Options.Mistake { Options.Mistake(description: text) }
    if options.unlessHandedOver, !options.cleanup || options.dryRun { throw refuse("--unless-handed-over needs --cleanup alone") }
    if options.dryRun, !options.cleanup { throw refuse("--dry-run needs --cleanup; `roamward plan` shows the agent's steps") }
    if duration(options.settle) == nil { throw refuse("--settle takes a duration such as 500ms or 2s") }
    if let url = options.connectivityCheck, URLParts(url).map(\.isSecure) ?? true {
      throw refuse("--connectivity-check takes an http:// URL: a captive portal is not detected over https")
    }
    if options.connectivityContent != nil, options.connectivityCheck == nil {
      throw refuse("--connectivity-content needs --connectivity-check")
    }
    if Logger.Level(rawValue: options.logLevel) == nil {
      throw refuse("unknown log level \"\(options.logLevel)\"; use trace, debug, info, notice, warning, error or critical")
    }
  }

  /// Returns the exit status.
  private static func run(_ options: Options) -> Int32 {
    var settings = AgentSettings()
    settings.policyLayers = options.policies
    settings.stateDirectory = options.stateDir
    settings.socket = options.socket
    settings.ssidFile = options.ssidFile
    settings.resolvConf = options.resolvConf
    settings.settle = duration(options.settle) ?? settings.settle
    settings.connectivityCheck = options.connectivityCheck.map { ConnectivityCheck(url: $0, content: options.connectivityContent) }
    let level = Logger.Level(rawValue: options.logLevel) ?? .info
    let logger = Logger(label: "roamwardd") { _ in LogfmtLogHandler(level: level) }
    Privileges.forbidDumps()
    guard Privileges.canChangeNetwork else {
      logger.critical("roamwardd cannot run", metadata: ["reason": "\(lackOfPrivileges)"])
      return EX_NOPERM
    }
    do {
      if options.lock {
        try lockFirewall(settings, logger: logger)
        return 0
      }
      if options.release {
        try releaseFirewall(logger: logger)
        return 0
      }
      if options.cleanup, options.dryRun {
        let machine = try LinuxMachine(ssidFile: nil, resolvConf: options.resolvConf, stateDirectory: options.stateDir)
        for line in try machine.cleanupForecast(stateDirectory: options.stateDir, socket: options.socket) { print(escaped(line)) }
        return writesAll() ? 0 : 1
      }
      let daemon = try Daemon(settings, logger: logger)
      return options.cleanup ? try daemon.cleanUp(unlessHandedOver: options.unlessHandedOver) : try daemon.run()
    } catch {
      logger.critical("roamwardd cannot run", metadata: ["reason": "\(error)"])
      return 1
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
