internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import Wire

/// One start of wireguard-go: the program makes the link and goes into the background; then its socket has to answer.
final class EngineStart {
  private let link: String
  private let socket: UAPISocket?
  private let loop: EventLoop
  private var handler: ((Result<Void, ProviderError>) -> Void)?
  private var program: ChildProcess?
  private var connection: FileDescriptor?
  private var sources: [EventSource] = []

  init(
    _ program: String, link: String, _ socket: UAPISocket?, on loop: EventLoop,
    then handler: @escaping (Result<Void, ProviderError>) -> Void
  ) {
    self.link = link
    self.socket = socket
    self.loop = loop
    self.handler = handler
    do throws(SystemError) {
      guard socket != nil else { throw SystemError(code: EINVAL, operation: "make a link of the name \(link)") }
      // In the background it writes nothing, whatever happens, and so nothing of the agent's end can hurt it.
      self.program = try ChildProcess([program, link], environment: ["ROAMWARD_LINK": link], timeout: .seconds(8), on: loop) {
        [weak self] in self?.ended($0)
      }
      sources = [try loop.at(.now + .seconds(10)) { [weak self] in self.map { $0.finish(.failure($0.noAnswer)) } }]
    } catch {
      let failure = error.code == ENOENT ? Self.missing(program) : ProviderError(error.description)
      // Told later, never from within `start`.
      sources = [try? loop.at(.now) { [weak self] in self?.finish(.failure(failure)) }].compactMap { $0 }
    }
  }

  /// Ends it, without a call back. What it left behind is for `EngineStop`.
  func abandon() {
    handler = nil
    sources = []
    connection = nil
    program?.kill()
  }

  private func ended(_ outcome: ChildProcess.Outcome) {
    guard outcome.code == 0, !outcome.wasTimedOut else {
      let said = tail(of: outcome.output, lines: 1)
      let help = said.contains("/dev/net/tun") ? "load the kernel's module (modprobe tun), or give the container /dev/net/tun" : nil
      let how = outcome.wasTimedOut ? "did not start in time" : "ended with status \(outcome.code)"
      return finish(.failure(ProviderError("wireguard-go for \(link) \(how): \(said)", help: help)))
    }
    do {
      guard let connection = try socket?.connect() else { return finish(.failure(noAnswer)) }
      self.connection = connection
      // Its first answer comes when the daemon has found its feet; the loop must not wait for that.
      _ = try connection.write(Array(UAPIRequest.get.utf8)[...])
      sources.append(try loop.whenReadable(connection.number) { [weak self] in self?.finish(.success(())) })
    } catch {
      finish(.failure(ProviderError("wireguard-go for \(link): \(error)")))
    }
  }

  private var noAnswer: ProviderError { ProviderError("wireguard-go for \(link) does not answer") }

  private static func missing(_ program: String) -> ProviderError {
    ProviderError("\(program) is not installed, and this kernel has no WireGuard", help: "apt install wireguard-go")
  }

  private func finish(_ result: Result<Void, ProviderError>) {
    let handler = handler
    abandon()
    handler?(result)
  }
}
