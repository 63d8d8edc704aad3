internal import ConfinedProcess
package import GatewayCore
package import GatewayLogin
internal import Glibc
internal import LinuxIO
internal import Lives
internal import LoginProtocol
internal import NetworkTypes
internal import SystemdIO
internal import WorkerLife

/// The gateway's side of checks by PAM: `roamward-gateway-pam` makes one check, and ends. So a module that hangs or crashes, or keeps
/// something, touches one login.
final class PAMService {
  static let program = "roamward-gateway-pam"
  /// The user as which the process runs: one of its own, which may be given files with secrets of modules.
  static let user = "roamward-pam"

  private let loop: EventLoop
  private var checks: [LifeToken: Check] = [:]

  private final class Check {
    let process: WorkerRun
    let limit: Duration
    let then: (PAMReport) -> Void
    var prompts = 0
    /// Ends it; none while the person is asked.
    var alarm: EventSource?
    var order: PAMOrder?

    init(_ process: WorkerRun, _ order: PAMOrder, limit: Duration, then: @escaping (PAMReport) -> Void) {
      self.process = process
      self.order = order
      self.limit = limit
      self.then = then
    }
  }

  init(on loop: EventLoop) { self.loop = loop }

  /// A password that no name has.
  static var randomPassword: [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<24).map { _ in UInt8.random(in: 0x61...0x7a, using: &generator) }
  }

  /// Begins a check. `then` is called later: with prompts, and then with the result. `false`: too many are under way.
  func begin(
    _ settings: PAMSettings, _ user: GatewayName, _ password: [UInt8], _ attempt: LifeToken, from source: IPAddress,
    then: @escaping (PAMReport) -> Void
  ) throws(SystemError) -> Bool {
    guard checks.count < PAMLimits.checks else { return false }
    let process = try WorkerRun(
      Self.program, on: loop, take: { [weak self] in self?.take(try PAMReport(LoginFrame(message: $0)), attempt) },
      failed: { [weak self] in self?.end(attempt, .unavailable($0.words(of: Self.program))) })
    let order = PAMOrder.check(service: settings.service, user: user, password: password, source: source)
    checks[attempt] = Check(process, order, limit: .seconds(settings.seconds), then: then)
    setAlarm(attempt)
    return true
  }

  /// The person's answer to a prompt.
  func answer(_ value: [UInt8], _ attempt: LifeToken) {
    guard let check = checks[attempt], check.alarm == nil else { return }
    setAlarm(attempt)
    send(.answer(value), attempt)
  }

  func cancel(_ attempt: LifeToken) { checks.removeValue(forKey: attempt)?.process.end() }

  /// Ends all checks, and tells nothing of them.
  func stop() {
    for attempt in Array(checks.keys) { cancel(attempt) }
  }

  private func setAlarm(_ attempt: LifeToken) {
    guard let check = checks[attempt] else { return }
    check.alarm = try? loop.at(.now + check.limit) { [weak self] in
      self?.end(attempt, .unavailable("the service has not answered for \(check.limit.components.seconds) s"))
    }
  }

  private func send(_ order: PAMOrder, _ attempt: LifeToken) {
    checks[attempt]?.process.send(order.frame)
  }

  private func take(_ report: PAMReport, _ attempt: LifeToken) {
    guard let check = checks[attempt] else { return }
    switch report {
    case .hello(nil):
      // Only once it is confined.
      guard let order = check.order else { return }
      check.order = nil
      send(order, attempt)
    case .hello(let trouble?): end(attempt, .unavailable(WorkerTrouble.refuses(trouble).words(of: Self.program)))
    case .prompt:
      check.prompts += 1
      guard check.prompts <= PAMLimits.prompts, check.alarm != nil else {
        return end(attempt, .unavailable("\(Self.program) asks too much"))
      }
      check.alarm = nil
      check.then(report)
    case .accepted, .refused, .unavailable: end(attempt, report)
    }
  }

  private func end(_ attempt: LifeToken, _ report: PAMReport) {
    guard let check = checks.removeValue(forKey: attempt) else { return }
    check.process.end()
    check.then(report)
  }
}

/// The files of a PAM service.
package enum PAMFiles {
  /// Throws what is wrong with the service, with file, line, reason and cure.
  package static func check(_ settings: PAMSettings) throws(GatewayError) {
    if let fault = settings.fault { throw fault }
    var files: [String] = []
    let stack = try PAMStack(service: settings.service) { name in
      let file = text(of: name)
      if let file { files.append(file.path) }
      return file
    }
    for path in files where !canRead(path) {
      throw GatewayError(
        "pam: the user \(PAMService.user), which runs the modules, cannot read \(path)", help: "chmod 644 \(path)")
    }
    if let fault = stack.fault(exists: { hasModule($0) }) { throw fault }
    let named = files.map { (settings.service, $0) } + stack.radiusFiles
    for (place, path) in named where !PAMLimits.folders.contains(where: { path.hasPrefix($0 + "/") }) {
      throw GatewayError("pam: \(place): modules can read no file such as \(path)", help: "move it below /etc")
    }
    for (place, path) in stack.radiusFiles where !canRead(path) {
      throw GatewayError(
        "pam: \(place): the user \(PAMService.user), which runs the module, cannot read \(path)",
        help: "chgrp \(PAMService.user) \(path) && chmod 640 \(path)")
    }
  }

  private static let folders = ["/etc/pam.d", "/usr/lib/pam.d"]

  /// A name, or an absolute path.
  private static func text(of name: String) -> (path: String, text: String)? {
    for path in name.hasPrefix("/") ? [name] : folders.map({ "\($0)/\(name)" }) {
      if let bytes = try? TextFile.read(path, limit: 65_536) { return (path, String(decoding: bytes, as: UTF8.self)) }
    }
    return nil
  }

  #if arch(x86_64)
    private static let architecture = "x86_64-linux-gnu"
  #elseif arch(arm64)
    private static let architecture = "aarch64-linux-gnu"
  #else
    private static let architecture = "none"
  #endif

  private static func hasModule(_ name: String) -> Bool {
    if name.hasPrefix("/") { return access(name, R_OK) == 0 }
    let folders = ["/lib/\(architecture)", "/usr/lib/\(architecture)", "/lib64", "/usr/lib64", "/lib", "/usr/lib"]
    return folders.contains { access("\($0)/security/\(name)", R_OK) == 0 }
  }

  /// Whether that user can read the file, by its mode.
  private static func canRead(_ path: String) -> Bool {
    var information = stat()
    guard stat(path, &information) == 0, let account = getpwnam(PAMService.user) ?? getpwnam("nobody") else { return false }
    let (user, group, mode) = (account.pointee.pw_uid, account.pointee.pw_gid, information.st_mode)
    if information.st_uid == user { return mode & 0o400 != 0 }
    return information.st_gid == group ? mode & 0o040 != 0 : mode & 0o004 != 0
  }
}
