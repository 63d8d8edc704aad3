internal import CLinux
internal import ConfinedProcess
internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import ProviderGroups
internal import ProviderProtocol
internal import RoamwardCore
internal import SystemdIO
internal import WorkerLife

/// A provider's program and its channel.
///
/// After the channel's end, or `end`, all processes of the tunnel's control group get SIGTERM, and SIGKILL two seconds later.
final class ProviderProcess {
  /// Descriptors that messages take with them.
  var attachments: [ProviderSession.Attachment: FileDescriptor] = [:]
  var events: (InstalledProviders.Event) -> Void = { _ in }
  var group: OpenControlGroup?
  private let loop: EventLoop
  private let sockets: ProviderSockets
  private let process: Int32
  /// `nil`: the channel is closed.
  private var exchange: MessageExchange?
  /// Notices the exit of the program.
  private var exit: EventSource?
  /// Shows the exit of a program that another agent has started.
  private var exitFile: FileDescriptor?
  private var ending = ProgramEnd()
  /// Looks again whether all have ended.
  private var look: EventSource?

  /// `link`: the tunnel's, which its user follows from.
  init(
    _ program: ProviderProgram, link: String, mark: UInt32, group: FileDescriptor?, on loop: EventLoop
  ) throws(ProviderError) {
    let account: ProgramAccount
    do throws(SystemError) {
      account = try ProgramAccount(program.user(ofLink: link), groupsOf: program.user)
    } catch {
      throw ProviderError("there is no user \(program.user), as which it runs", help: "useradd --system \(program.user)")
    }
    guard access(program.path, X_OK) == 0 else {
      throw ProviderError("\(program.path) cannot be started: \(SystemError.words(errno))", help: "is the provider installed?")
    }
    try ProviderError.checkTrust(in: program.path, for: "its program")
    self.loop = loop
    sockets = ProviderSockets(mark: mark, on: loop)
    let arguments = Self.arguments(of: program, as: account)
    do throws(SystemError) {
      let (ours, theirs) = try MessageChannel.pair()
      _ = fcntl(theirs.number, F_SETFL, fcntl(theirs.number, F_GETFL) & ~O_NONBLOCK)
      var start = SpawnedProgram(
        "setpriv", arguments, environment: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        descriptors: [.nothing, .nothing, .nothing, .open(theirs)], company: .group, umask: 0o077, group: group)
      start.isSeparate = true
      process = try start.start()
      exchange = try open(ours)
      exit = try loop.onExit(of: process) { [weak self] in self?.exited($0) }
    } catch {
      throw ProviderError("\(program.path): \(error)", help: error.code == ENOENT ? "install util-linux, which has setpriv" : nil)
    }
  }

  /// A program that another agent has started, and its channel. Throws if it has ended.
  init(_ left: ProgramIdentity, channel file: FileDescriptor, mark: UInt32, on loop: EventLoop) throws(ProviderError) {
    self.loop = loop
    sockets = ProviderSockets(mark: mark, on: loop)
    process = left.process
    let number = clinux_process(left.process)
    guard number >= 0 else { throw ProviderError("the program has ended") }
    let exitFile = FileDescriptor(owning: number)
    // The descriptor is that of the process with this number now: which one is that?
    guard ProgramIdentity(left.process) == left else { throw ProviderError("the program has ended") }
    self.exitFile = exitFile
    do throws(SystemError) {
      exchange = try open(MessageChannel(file))
      exit = try loop.whenReadable(number) { [weak self] in self?.exited(nil) }
    } catch {
      throw ProviderError(error.description)
    }
  }

  /// Leaves the program and its channel to the next agent; `nil`: that cannot be, now or at all.
  func leave(_ store: DescriptorStore) -> ProgramIdentity? {
    guard let exchange, exchange.isSent, !sockets.areConnecting, attachments.isEmpty, ending.phase == .running,
      let identity = ProgramIdentity(process), store.keep(exchange.channel.descriptor, as: identity.channelName)
    else { return nil }
    (exit, exitFile) = (nil, nil)
    closeChannel()
    return identity
  }

  /// setpriv(1) of util-linux gives up everything before the program starts.
  private static func arguments(of program: ProviderProgram, as account: ProgramAccount) -> [String] {
    let kept = program.capability.map { ",+\($0.rawValue.replacing("-", with: "_"))" } ?? ""
    return [
      "setpriv", "--reuid=\(account.user)", "--regid=\(account.group)",
      "--groups=\(account.groups.map(String.init).joined(separator: ","))",
      "--no-new-privs", "--bounding-set=-all\(kept)", "--inh-caps=-all\(kept)", "--ambient-caps=-all\(kept)", "--", program.path,
    ]
  }

  // MARK: The channel

  private func open(_ channel: MessageChannel) throws(SystemError) -> MessageExchange {
    // A provider that does not read has its time limits.
    try MessageExchange(channel, limit: 1000, takesDescriptors: true, on: loop) { [weak self] bytes, file in
      self?.events(.message(bytes, hasDescriptor: file != nil))
    } ended: { [weak self] _ in
      self?.close()
    }
  }

  func send(_ bytes: [UInt8], _ attachment: ProviderSession.Attachment?) {
    exchange?.send(bytes, passing: attachment.flatMap { attachments.removeValue(forKey: $0) })
  }

  private func close() {
    guard exchange != nil else { return }
    closeChannel()
    events(.closed)
  }

  private func closeChannel() {
    exchange?.close()
    exchange = nil
    attachments = [:]
    sockets.close()
  }

  // MARK: Sockets

  func openSocket(
    _ id: UInt32, _ transport: Transport, _ remote: Endpoint, then done: @escaping (Result<IPAddress?, ProviderError>) -> Void
  ) {
    sockets.open(id, transport, remote) { [weak self] opened in
      if case .success(let opened) = opened { self?.attachments[.granted(id: id)] = opened.socket }
      done(opened.map(\.address))
    }
  }

  // MARK: The end

  /// Closes the channel, and ends all processes.
  func end() { perform(ending.end(at: .now)) }

  /// Kills all processes now.
  func cut() { perform(ending.cut(at: .now)) }

  private func exited(_ code: Int32?) {
    exit = nil
    let effects = ending.exited(code, at: .now)
    close()
    // The processes that are left in its group have no channel any more.
    perform(effects)
  }

  private func perform(_ effects: [ProgramEnd.Effect]) {
    if !effects.isEmpty { closeChannel() }
    for effect in effects {
      switch effect {
      case .ask: signal(SIGTERM)
      case .kill: if let group { group.kill() } else { signal(SIGKILL) }
      case .look: lookAround()
      case .lookLater: look = try? loop.at(.now + .milliseconds(5)) { [weak self] in self?.lookAround() }
      case .over(let code):
        look = nil
        events(.ended(code: code))
      }
    }
  }

  private func lookAround() { perform(ending.look(isPopulated: group?.isPopulated ?? false, at: .now)) }

  private func signal(_ number: Int32) {
    if let group { return group.signal(number) }
    if ending.isRunning { Privileges.signal(-process, number) }
  }
}
