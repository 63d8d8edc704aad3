internal import ConfinedProcess
internal import GatewayLogin
internal import GatewaySockets
internal import LinuxIO
internal import LoginProtocol
internal import SystemdIO

/// The life of `roamward-gateway-auth`: it runs while there are logins, is started anew with other settings, and after a pause when it has
/// failed.
final class AuthProcess {
  static let program = "roamward-gateway-auth"

  /// The settings that a run begins with.
  struct Settings: Equatable {
    /// The certificate and its key (PEM).
    var identity: String
    /// The port of logins, which is the link's; `nil`: the store does not have this gateway.
    var port: UInt16?
    /// The TCP port of relays; `nil`: nothing is relayed.
    var relayPort: UInt16?
  }

  /// An event of its life.
  enum Event {
    case request(AuthRequest)
    /// It has failed, and is started again later.
    case failed(String)
    /// A port cannot be used for relays; logins go on. `nil`: it can.
    case relay(trouble: String?)
    /// No conversation of the last run goes on.
    case stopped
  }

  private enum Phase {
    case stopped
    case running(Settings, [FileDescriptor])
    /// It has failed, and is started with these after the pause.
    case pausing(Settings)
  }

  private let loop: EventLoop
  private let take: (Event) -> Void
  private var phase = Phase.stopped
  private lazy var worker = WorkerSupervisor(
    Self.program, on: loop, take: { [weak self] in self?.take(.request(try AuthRequest(LoginFrame(message: $0)))) },
    tell: { [weak self] in self?.hear($0) })

  /// `take` is called with each event; with some of them during `begin`, `fail` and `greet`.
  init(on loop: EventLoop, take: @escaping (Event) -> Void) {
    self.loop = loop
    self.take = take
  }

  /// The settings in force; `nil`: there are no logins.
  var settings: Settings? {
    switch phase {
    case .stopped: nil
    case .running(let settings, _), .pausing(let settings): settings
    }
  }

  /// Whether it has these settings already, and needs no start.
  func has(_ wanted: Settings) -> Bool { settings == wanted }

  /// Starts anew with settings; `nil`: only ends.
  func begin(_ wanted: Settings?) {
    worker.end()
    stop()
    if let wanted { start(wanted) }
  }

  func send(_ reply: AuthReply) { worker.send(reply.frame) }

  /// Takes its first message. Returns whether it works now.
  func greet(_ trouble: String?) -> Bool { worker.greet(trouble) }

  private func stop() {
    phase = .stopped
    take(.stopped)
  }

  private func start(_ settings: Settings) {
    guard let port = settings.port else { return phase = .stopped }
    phase = .running(settings, [])
    do throws(SystemError) {
      var listeners = [try ListeningSocket.make(port: port)]
      listeners += relayListener(settings.relayPort, besides: port)
      try worker.start()
      phase = .running(settings, listeners)
      let start = AuthReply.start(identity: settings.identity, relayTo: settings.relayPort == nil ? nil : port)
      worker.send(start.frame, passing: listeners[0])
      for further in listeners.dropFirst() { worker.send(AuthReply.listener.frame, passing: further) }
    } catch { worker.fail("\(error)") }
  }

  /// Logins go on without the other port, which may belong to a web server.
  private func relayListener(_ relayPort: UInt16?, besides port: UInt16) -> [FileDescriptor] {
    var (listeners, trouble): ([FileDescriptor], String?) = ([], nil)
    if let relayPort, relayPort != port {
      do throws(SystemError) { listeners = [try ListeningSocket.make(port: relayPort)] } catch { trouble = "\(error)" }
    }
    take(.relay(trouble: trouble))
    return listeners
  }

  private func hear(_ news: WorkerSupervisor.News) {
    guard let settings else { return }
    switch news {
    case .failed(let text):
      take(.failed(text))
      stop()
      phase = .pausing(settings)
    case .mayStart: start(settings)
    }
  }
}
