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
    case running(Settings, WorkerProcess, [FileDescriptor])
    case pausing(Settings, EventSource?)
  }

  private let loop: EventLoop
  private let take: (Event) -> Void
  private var phase = Phase.stopped
  private var pause = RestartPause()

  /// `take` is called with each event; with some of them during `follow` and `send`.
  init(on loop: EventLoop, take: @escaping (Event) -> Void) {
    self.loop = loop
    self.take = take
  }

  /// The settings in force; `nil`: there are no logins.
  var settings: Settings? {
    switch phase {
    case .stopped: nil
    case .running(let settings, _, _), .pausing(let settings, _): settings
    }
  }

  /// Whether it has these settings already, and needs no start.
  func has(_ wanted: Settings) -> Bool { settings == wanted }

  /// Starts anew with settings; `nil`: only ends.
  func begin(_ wanted: Settings?) {
    stop()
    if let wanted { start(wanted) }
  }

  func send(_ reply: AuthReply) {
    guard case .running(let settings, let process, _) = phase else { return }
    do throws(SystemError) { try process.send(reply.frame) } catch { fail("\(error)", settings) }
  }

  /// A failure that it has told of itself.
  func fail(_ text: String) {
    if let settings { fail(text, settings) }
  }

  private func stop() {
    if case .running(_, let process, _) = phase { process.end() }
    phase = .stopped
    take(.stopped)
  }

  private func start(_ settings: Settings) {
    guard let port = settings.port else { return phase = .stopped }
    do throws(SystemError) {
      var listeners = [try ListeningSocket.make(port: port)]
      listeners += relayListener(settings.relayPort, besides: port)
      let process = try WorkerProcess(
        Self.program, on: loop, take: { [weak self] in self?.take(.request(try AuthRequest($0))) },
        failed: { [weak self] in self?.fail($0, settings) })
      phase = .running(settings, process, listeners)
      let start = AuthReply.start(identity: settings.identity, relayTo: settings.relayPort == nil ? nil : port)
      try process.send(start.frame, passing: listeners[0])
      for further in listeners.dropFirst() { try process.send(AuthReply.listener.frame, passing: further) }
    } catch { fail("\(error)", settings) }
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

  private func fail(_ text: String, _ settings: Settings) {
    take(.failed(text))
    stop()
    pause.fail(at: .now)
    phase = .pausing(settings, try? loop.at(pause.end ?? .now) { [weak self] in self?.start(settings) })
  }
}
