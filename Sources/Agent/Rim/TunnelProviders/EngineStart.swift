internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO
internal import Wire
internal import WireGuardControl

/// One start of an engine: creates its link and its process, and waits until its socket answers.
final class EngineStart {
  private let link: String
  private let loop: EventLoop
  private var handler: ((Result<InterfaceProcess, ProviderError>) -> Void)?
  private var interface: InterfaceProcess?
  private var connection: FileDescriptor?
  private var sources: [EventSource] = []

  init(
    _ program: String, link: String, in socketDirectory: String, on loop: EventLoop,
    then handler: @escaping (Result<InterfaceProcess, ProviderError>) -> Void
  ) {
    self.link = link
    self.loop = loop
    self.handler = handler
    do throws(SystemError) {
      guard let socket = UAPISocket(link: link, in: socketDirectory) else {
        throw SystemError(code: EINVAL, operation: "make a link of the name \(link)")
      }
      let interface = try InterfaceProcess(link, program: program, socketDirectory: socketDirectory)
      self.interface = interface
      // The socket listens from the start. Its first answer comes when the process is ready; the loop must not block for it.
      let connection = try FileDescriptor.connect(to: socket.path, nonBlocking: true)
      self.connection = connection
      _ = try connection.write(Array(UAPIRequest.get.utf8)[...])
      sources = [
        try loop.whenReadable(connection.number) { [weak self] in self?.answered() },
        try loop.at(.now + .seconds(30)) { [weak self] in self.map { $0.fail("does not answer") } },
      ]
    } catch {
      let failure = explain(error, program)
      // The result is delivered later, never during `start`.
      sources = [try? loop.at(.now) { [weak self] in self?.finish(.failure(failure)) }].compactMap { $0 }
    }
  }

  /// Cancels the start, without a call back. `EngineStop` removes the rest.
  func abandon() {
    handler = nil
    sources = []
    connection = nil
    guard let interface else { return }
    if Privileges.signal(interface.process, SIGKILL) { waitpid(interface.process, nil, 0) }
    self.interface = nil
  }

  private func answered() {
    guard let interface, let part = try? connection?.read(), !part.isEmpty else { return fail("ended as soon as it was started") }
    self.interface = nil
    finish(.success(interface))
  }

  private func fail(_ what: String) { finish(.failure(ProviderError("\(InterfaceProcess.program) for \(link) \(what)"))) }

  private func explain(_ error: SystemError, _ program: String) -> ProviderError {
    if error.operation.contains("/dev/net/tun") {
      let isMissing = error.code == ENOENT || error.code == ENODEV
      let help = isMissing ? "load the kernel's module (modprobe tun), or give the container /dev/net/tun" : nil
      return ProviderError("TUN device: \(error)", help: help)
    }
    let isMissing = error.code == ENOENT && error.operation.hasPrefix("start ")
    return ProviderError(error.description, help: isMissing ? "install \(program) beside roamwardd" : nil)
  }

  private func finish(_ result: Result<InterfaceProcess, ProviderError>) {
    let handler = handler
    abandon()
    handler?(result)
  }
}
