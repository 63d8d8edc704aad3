internal import ConfinedProcess
package import GatewayCore
package import GatewayLogin
internal import Glibc
internal import LinuxIO
internal import Lives
internal import LoginProtocol
internal import NetworkTypes
internal import SystemdIO

/// The gateway's side of sign-ins at an OpenID provider: `roamward-gateway-oidc` talks to the provider, and tells the result. It is started
/// for the first sign-in and ended a minute after the last one, so each time it has the present secret, certificates and name servers.
final class OpenIDService {
  static let program = "roamward-gateway-oidc"
  private static let idle = Duration.seconds(60)

  private let loop: EventLoop
  private let log: (String) -> Void
  private lazy var worker = WorkerSupervisor(
    Self.program, on: loop, take: { [weak self] in self?.take(try OpenIDReport(LoginFrame(message: $0))) },
    tell: { [weak self] in self?.hear($0) })
  private var settings: OpenIDSettings?
  /// By the number that the process knows each by.
  private var flows: [UInt32: Flow] = [:]
  private var lastNumber: UInt32 = 0
  /// Called after each failure of the process.
  var failed: () -> Void = {}

  private struct Flow {
    let attempt: LifeToken
    let then: (OpenIDReport) -> Void
  }

  init(on loop: EventLoop, log: @escaping (String) -> Void) {
    self.loop = loop
    self.log = log
  }

  /// Begins a sign-in, or only looks whether one would be possible. `then` is called later: with a page and then with the result, or with
  /// the result alone. `false`: too many are under way.
  func begin(_ settings: OpenIDSettings, _ attempt: LifeToken, isCheck: Bool = false, then: @escaping (OpenIDReport) -> Void) -> Bool {
    guard flows.count < SignInLimits.flows else { return false }
    if settings != self.settings { stop("the settings have changed") }
    self.settings = settings
    lastNumber &+= 1
    let number = lastNumber
    flows[number] = Flow(attempt: attempt, then: then)
    worker.work()
    do {
      try start(settings)
      send(isCheck ? .check(number: number) : .begin(number: number))
    } catch {
      // Later: it has not begun yet for the caller.
      let text = "\(error)"
      later { [weak self] in self?.end(.failed(number: number, text)) }
    }
    return true
  }

  func cancel(_ attempt: LifeToken) {
    guard let number = flows.first(where: { $0.value.attempt == attempt })?.key else { return }
    flows[number] = nil
    send(.cancel(number: number))
    rest()
  }

  /// Ends all sign-ins.
  func stop(_ reason: String) {
    worker.end()
    settings = nil
    let ended = flows
    flows = [:]
    for (number, flow) in ended { flow.then(.failed(number: number, reason)) }
  }

  /// Calls back once, from the loop.
  private func later(_ body: @escaping () -> Void) {
    final class Wait { var source: EventSource? }
    let wait = Wait()
    wait.source = try? loop.at(.now) {
      wait.source = nil
      body()
    }
  }

  private func start(_ settings: OpenIDSettings) throws {
    if worker.isRunning { return }
    if worker.obstacle != nil { throw GatewayError("\(Self.program) has failed, and is started again later") }
    let client = try OpenIDFiles.client(settings)
    do throws(SystemError) { try worker.start() } catch {
      worker.postpone("\(error)")
      throw error
    }
    worker.send(OpenIDOrder.configure(client).frame)
  }

  private func send(_ order: OpenIDOrder) { worker.send(order.frame) }

  private func hear(_ news: WorkerSupervisor.News) {
    // The next sign-in starts it.
    guard case .failed(let text) = news else { return }
    log("logins: \(text)")
    failed()
    let settings = settings
    stop(text)
    self.settings = settings
  }

  private func take(_ report: OpenIDReport) {
    switch report {
    case .hello(let trouble): if worker.greet(trouble) { rest() }
    case .page(let number, _): flows[number]?.then(report)
    case .identity, .denied, .expired, .failed, .checked: end(report)
    }
  }

  private func end(_ report: OpenIDReport) {
    guard let number = report.number, let flow = flows.removeValue(forKey: number) else { return }
    flow.then(report)
    rest()
  }

  private func rest() {
    if flows.isEmpty { worker.rest(for: Self.idle) }
  }
}

/// The files that settings of an OpenID provider name.
package enum OpenIDFiles {
  /// Throws what is wrong with them, with the cure.
  package static func check(_ settings: OpenIDSettings) throws(GatewayError) { _ = try client(settings) }

  /// Reads them; throws what is wrong, with the cure.
  static func client(_ settings: OpenIDSettings) throws(GatewayError) -> OpenIDClient {
    var secret: String?
    if let path = settings.secretFile {
      var information = stat()
      if stat(path, &information) == 0, information.st_mode & 0o007 != 0 {
        throw GatewayError("openid: every user of this machine can read \(path)", help: "chmod o= \(path)")
      }
      let text = try read(path, SignInLimits.secret, "the client's secret")
      secret = String(text.prefix { $0 != "\n" && $0 != "\r\n" && $0 != "\r" })
      if secret?.isEmpty == true { throw GatewayError("openid: \(path) has no secret in its first line", help: "write it there") }
    }
    var authorities: String?
    if let path = settings.authorityFile {
      authorities = try read(path, SignInLimits.authorities, "certificates")
      guard authorities?.contains("-----BEGIN CERTIFICATE-----") == true else {
        throw GatewayError("openid: \(path) has no certificate", help: "use a file of PEM certificates")
      }
    }
    return OpenIDClient(settings, secret: secret, authorities: authorities)
  }

  private static func read(_ path: String, _ limit: Int, _ what: String) throws(GatewayError) -> String {
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try TextFile.read(path, limit: limit) } catch {
      throw GatewayError("openid: \(what) cannot be read: \(error)", help: "correct the path, or the file's owner and mode")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw GatewayError("openid: \(path) is no text", help: "use another file")
    }
    return text
  }
}
