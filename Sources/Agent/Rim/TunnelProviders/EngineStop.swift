internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// One stop of an engine: its socket is removed, it notices that and ends, and its link goes with it.
final class EngineStop {
  /// Other callers that wait for the result.
  var observers: [(Result<Void, ProviderError>) -> Void] = []
  /// Work to run at the end, whatever the result.
  var afterwards: [() -> Void] = []

  private let link: String
  /// The link's index at the beginning: another link of the same name is not awaited.
  private let index: UInt32
  private let loop: EventLoop
  private var handler: ((Result<Void, ProviderError>) -> Void)?
  private let deadline = Moment.now + .seconds(3)
  /// Ends an engine that hangs; `nil`: it has been killed, or an earlier agent has started it.
  private var kill: (at: Moment, () -> Void)?
  /// Open until the engine's end closes it. A new engine of this name must not start before: the old one's last act is to remove the
  /// socket's file, even if it belongs to the new one by then.
  private var connection: FileDescriptor?
  private var sources: [EventSource] = []

  /// `kill` ends the process; it is called if the engine has not ended by itself within half the time.
  init(
    link: String, _ socket: UAPISocket?, kill: (() -> Void)?, on loop: EventLoop,
    then handler: @escaping (Result<Void, ProviderError>) -> Void
  ) {
    self.link = link
    self.kill = kill.map { (.now + .milliseconds(1500), $0) }
    index = if_nametoindex(link)
    self.loop = loop
    self.handler = handler
    do {
      connection = try socket?.connect()
      try socket?.remove()
    } catch {
      later(.milliseconds(0)) { $0.finish(.failure(error)) }
      return
    }
    later(.milliseconds(0)) { $0.look() }
  }

  private func look() {
    if isGone {
      finish(.success(()))
    } else if Moment.now > deadline {
      finish(.failure(ProviderError("the engine of \(link) does not end", help: "ip link del \(link)")))
    } else {
      if let kill, kill.at < .now {
        self.kill = nil
        kill.1()
      }
      later(.milliseconds(20)) { $0.look() }
    }
  }

  private var isGone: Bool {
    // The engine sends nothing here, so a readable socket means its end.
    if let open = connection, (try? open.read()) == .some(nil) { return false }
    connection = nil
    return index == 0 || if_nametoindex(link) != index
  }

  private func later(_ delay: Duration, _ body: @escaping (EngineStop) -> Void) {
    let source = try? loop.at(.now + delay) { [weak self] in self.map(body) }
    sources = source.map { [$0] } ?? []
  }

  private func finish(_ result: Result<Void, ProviderError>) {
    let handler = handler
    self.handler = nil
    sources = []
    connection = nil
    handler?(result)
  }
}
