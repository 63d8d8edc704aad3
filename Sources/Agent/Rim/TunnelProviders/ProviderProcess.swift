internal import CLinux
internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import ProviderGroups
internal import ProviderProtocol
internal import RoamwardCore
internal import SystemdIO

/// A provider's program and its channel.
///
/// After the channel's end, or `end`, all processes of the tunnel's control group get SIGTERM, and SIGKILL two seconds later.
final class ProviderProcess {
  private static let patience = Duration.seconds(2)

  /// Descriptors that messages take with them.
  var attachments: [ProviderSession.Attachment: FileDescriptor] = [:]
  var events: (InstalledProviders.Event) -> Void = { _ in }
  var group: OpenControlGroup?
  private let loop: EventLoop
  /// The firewall mark of its sockets.
  private let mark: UInt32
  private let process: Int32
  private var channel: MessageChannel?
  /// Messages that the program has no room for yet.
  private var unsent: [(bytes: [UInt8], file: FileDescriptor?)] = []
  private var reading: EventSource?
  private var writing: EventSource?
  private var exit: EventSource?
  /// Shows the exit of a program that another agent has started.
  private var exitFile: FileDescriptor?
  private var waiting: EventSource?
  private var connecting: [UInt32: EventSource] = [:]
  private var hasExited = false
  /// As a shell gives it; `nil`: it runs, or another agent has started it.
  private var exitCode: Int32?
  private var killAt: Moment?

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
    self.mark = mark
    let arguments = Self.arguments(of: program, as: account)
    do throws(SystemError) {
      let (ours, theirs) = try MessageChannel.pair()
      _ = fcntl(theirs.number, F_SETFL, fcntl(theirs.number, F_GETFL) & ~O_NONBLOCK)
      var start = SpawnedProgram(
        "setpriv", arguments, environment: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        descriptors: [.nothing, .nothing, .nothing, .open(theirs)], company: .group, umask: 0o077, group: group)
      start.isSeparate = true
      process = try start.start()
      channel = ours
      reading = try loop.whenReadable(ours.descriptor.number) { [weak self] in self?.receive() }
      exit = try loop.onExit(of: process) { [weak self] in self?.exited($0) }
    } catch {
      throw ProviderError("\(program.path): \(error)", help: error.code == ENOENT ? "install util-linux, which has setpriv" : nil)
    }
  }

  /// A program that another agent has started, and its channel. Throws if it has ended.
  init(_ left: ProgramIdentity, channel file: FileDescriptor, mark: UInt32, on loop: EventLoop) throws(ProviderError) {
    self.loop = loop
    self.mark = mark
    process = left.process
    let number = clinux_process(left.process)
    guard number >= 0 else { throw ProviderError("the program has ended") }
    let exitFile = FileDescriptor(owning: number)
    // The descriptor is that of the process with this number now: which one is that?
    guard ProgramIdentity(left.process) == left else { throw ProviderError("the program has ended") }
    let channel = MessageChannel(file)
    self.exitFile = exitFile
    self.channel = channel
    do throws(SystemError) {
      reading = try loop.whenReadable(file.number) { [weak self] in self?.receive() }
      exit = try loop.whenReadable(number) { [weak self] in self?.exited(nil) }
    } catch {
      throw ProviderError(error.description)
    }
  }

  /// Leaves the program and its channel to the next agent; `nil`: that cannot be, now or at all.
  func leave(_ store: DescriptorStore) -> ProgramIdentity? {
    // The next agent reads bytes that are kept for a later run from their file, so this one does not send them.
    let kept = ProviderSession.Attachment.credential(ProtocolLimits.keptCredential)
    guard let channel, unsent.isEmpty, connecting.isEmpty, attachments.keys.allSatisfy({ $0 == kept }), killAt == nil, !hasExited,
      let identity = ProgramIdentity(process), store.keep(channel.descriptor, as: identity.channelName)
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

  func send(_ bytes: [UInt8], _ attachment: ProviderSession.Attachment?) {
    guard channel != nil else { return }
    unsent.append((bytes, attachment.flatMap { attachments.removeValue(forKey: $0) }))
    flush()
  }

  private func flush() {
    guard let channel else { return }
    while let next = unsent.first {
      do throws(SystemError) {
        try channel.send(next.bytes, passing: next.file)
        unsent.removeFirst()
      } catch {
        // The end of the channel is read.
        guard error.code == EAGAIN else { return unsent = [] }
        // A provider that does not read has its time limits.
        if unsent.count > 1000 { return close() }
        if writing == nil { writing = try? loop.whenWritable(channel.descriptor.number) { [weak self] in self?.flush() } }
        return
      }
    }
    writing = nil
  }

  private func receive() {
    // Other events of the loop have their turn.
    for _ in 0..<32 {
      guard let channel else { return }
      let received: MessageChannel.Received
      do throws(SystemError) { received = try channel.receive(takesDescriptors: true) } catch { return close() }
      switch received {
      case .message(let bytes, let file): events(.message(bytes, hasDescriptor: file != nil))
      case .nothing: return
      case .ended: return close()
      }
    }
  }

  private func close() {
    guard channel != nil else { return }
    closeChannel()
    events(.closed)
  }

  private func closeChannel() {
    (reading, writing, channel) = (nil, nil, nil)
    (unsent, attachments, connecting) = ([], [:], [:])
  }

  // MARK: Sockets

  func openSocket(
    _ id: UInt32, _ transport: Transport, _ remote: Endpoint, then done: @escaping (Result<IPAddress?, ProviderError>) -> Void
  ) {
    guard case .address(let address) = remote.host else { return done(.failure(ProviderError("\(remote) has no address"))) }
    let number = socket(
      address.family == .v4 ? AF_INET : AF_INET6,
      (transport == .udp ? Int32(SOCK_DGRAM.rawValue) : Int32(SOCK_STREAM.rawValue)) | Int32(SOCK_CLOEXEC.rawValue)
        | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard number >= 0 else { return done(.failure(ProviderError(SystemError.last("open a socket").description))) }
    let file = FileDescriptor(owning: number)
    var mark = mark
    guard setsockopt(number, SOL_SOCKET, SO_MARK, &mark, socklen_t(MemoryLayout.size(ofValue: mark))) == 0 else {
      return done(.failure(ProviderError(SystemError.last("mark a socket").description)))
    }
    // Streams of tunnels have packets in them, which do not wait for others.
    if transport == .tcp { _ = clinux_send_at_once(number) }
    let bytes = address.bytes
    guard clinux_connect(number, bytes, Int32(bytes.count), remote.port) == 0 else {
      guard errno == EINPROGRESS else { return done(.failure(ProviderError("\(remote): \(SystemError.words(errno))"))) }
      connecting[id] = try? loop.whenWritable(number) { [weak self] in
        self?.connecting[id] = nil
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout.size(ofValue: code))
        getsockopt(file.number, SOL_SOCKET, SO_ERROR, &code, &length)
        if code != 0 { return done(.failure(ProviderError("\(remote): \(SystemError.words(code))"))) }
        self?.attachments[.granted(id: id)] = file
        done(.success(Self.ownAddress(of: file)))
      }
      return
    }
    attachments[.granted(id: id)] = file
    done(.success(Self.ownAddress(of: file)))
  }

  private static func ownAddress(of socket: FileDescriptor) -> IPAddress? {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = clinux_local_address(socket.number, &bytes)
    return count > 0 ? IPAddress(bytes: bytes.prefix(Int(count))) : nil
  }

  // MARK: The end

  /// Closes the channel, and ends all processes.
  func end() {
    guard killAt == nil else { return }
    closeChannel()
    killAt = .now + Self.patience
    signal(SIGTERM)
    awaitEnd()
  }

  /// Kills all processes now.
  func cut() {
    closeChannel()
    killAt = .now
    awaitEnd()
  }

  private func signal(_ number: Int32) {
    if let group { return group.signal(number) }
    if !hasExited { Privileges.signal(-process, number) }
  }

  private func exited(_ code: Int32?) {
    (hasExited, exitCode) = (true, code)
    exit = nil
    close()
    // The processes that are left in its group have no channel any more.
    end()
  }

  private func awaitEnd() {
    guard let killAt else { return }
    let isPopulated = group?.isPopulated ?? false
    if hasExited && !isPopulated {
      waiting = nil
      return events(.ended(code: exitCode))
    }
    if Moment.now >= killAt {
      if let group { group.kill() } else if !hasExited { Privileges.signal(-process, SIGKILL) }
    }
    waiting = try? loop.at(.now + .milliseconds(5)) { [weak self] in self?.awaitEnd() }
  }
}
