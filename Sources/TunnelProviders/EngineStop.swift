internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// One ending of an engine: its socket goes, it notices, it ends, and its link goes with it.
final class EngineStop {
  /// Who else waits for the outcome.
  var observers: [(Result<Void, ProviderError>) -> Void] = []
  /// What waits for the end, however it comes.
  var afterwards: [() -> Void] = []

  private let link: String
  /// The link's at the beginning: another one of the same name is not ours to wait for.
  private let index: UInt32
  private let loop: EventLoop
  private var handler: ((Result<Void, ProviderError>) -> Void)?
  private let deadline = Moment.now + .seconds(3)
  /// Kept open until the engine's end closes it: a new engine of this name must not start before, as the old one's last act is to
  /// remove the socket's file, whosever that is by then.
  private var connection: FileDescriptor?
  private var sources: [EventSource] = []

  init(link: String, _ socket: UAPISocket?, on loop: EventLoop, then handler: @escaping (Result<Void, ProviderError>) -> Void) {
    self.link = link
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
      later(.milliseconds(20)) { $0.look() }
    }
  }

  private var isGone: Bool {
    // Nothing is ever sent to us here, so what can be read is the end.
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
