internal import Glibc
internal import KernelModel
package import LinuxIO
package import NetworkTypes
package import ProviderGroups
package import ProviderProtocol
package import RoamwardCore
package import SystemdIO

/// The programs of installed providers, one for a tunnel: their start without privileges, their channels and their end.
///
/// A program runs as its manifest's user, or as a user of its tunnel in the place of a shared one, in its tunnel's control group, without
/// capabilities but the one of its manifest; it cannot gain any (`no_new_privs`). Its descriptors are the channel and `/dev/null`, its
/// environment is PATH alone.
package final class InstalledProviders {
  package enum Event {
    case message([UInt8], hasDescriptor: Bool)
    case closed
    /// With the program's exit code, as a shell gives it; `nil`: it is not known.
    case ended(code: Int32?)
  }

  private let loop: EventLoop
  private let groups: ProviderGroups?
  private let kept: KeptForProviders?
  private let store: DescriptorStore
  private var programs: [String: ProviderProcess] = [:]
  /// Channels of an earlier agent's programs, by the names that the service manager has for them.
  private var channels: [String: FileDescriptor]

  /// `kept`: the folder of what is kept for providers; `nil`: nothing is. `store` keeps the channels of programs for the next agent;
  /// `channels`: those that the last one has left there.
  package init(
    on loop: EventLoop, groups: ProviderGroups? = nil, kept: String? = nil, store: DescriptorStore = DescriptorStore(),
    channels: [String: FileDescriptor] = [:]
  ) {
    self.store = store
    self.kept = kept.map { KeptForProviders(folder: $0) }
    self.loop = loop
    self.groups = groups
    self.channels = channels
  }

  /// Starts a tunnel's program, whose sockets have this firewall mark. `events` is called later only; `ended` comes last, and once.
  package func start(
    _ tunnel: String, _ program: ProviderProgram, mark: UInt32 = Ownership.mark, events: @escaping (Event) -> Void
  ) throws(ProviderError) {
    guard programs[tunnel] == nil else { throw ProviderError("the provider's last program is still ending") }
    let process = try ProviderProcess(
      program, link: TunnelSetup.linkName(forTunnel: tunnel), mark: mark, group: try? groups?.group(of: tunnel, mark: mark).folder,
      on: loop)
    add(process, of: tunnel, events)
  }

  /// Opens the credentials for a run of a tunnel's program that begins: each is sent once. Returns whether there is something kept for it.
  package func openCredentials(_ tunnel: String, _ configuration: InstalledProviderConfiguration) throws(ProviderError) -> Bool {
    guard let process = programs[tunnel] else { throw ProviderError("the provider has ended") }
    var opened: [ProviderSession.Attachment: FileDescriptor] = [:]
    for credential in configuration.credentials {
      guard let name = Word(credential.name) else { continue }
      opened[.credential(name)] = try open(credential)
    }
    let kept = ProviderSession.Attachment.credential(ProtocolLimits.keptCredential)
    opened[kept] = self.kept?.read(tunnel, configuration.program).flatMap { try? filledPipe($0) }
    process.attachments.merge(opened) { $1 }
    return opened[kept] != nil
  }

  private func add(_ process: ProviderProcess, of tunnel: String, _ events: @escaping (Event) -> Void) {
    process.events = { [weak self] event in
      if case .ended = event {
        self?.programs[tunnel] = nil
        self?.groups?.remove(tunnel)
      }
      events(event)
    }
    process.group = groups?.existingGroup(of: tunnel)
    programs[tunnel] = process
  }

  /// Keeps these bytes for the next runs, in place of those before; none: forgets those.
  package func keep(_ tunnel: String, _ program: ProviderProgram, _ bytes: [UInt8]) throws(ProviderError) {
    do throws(SystemError) { try kept?.write(bytes, tunnel, program) } catch { throw ProviderError(error.description) }
  }

  /// Leaves a tunnel's program to the next agent, and its channel to the service manager meanwhile. `nil`: that keeps no more
  /// of them, or something is on its way to the program.
  package func handOver(_ tunnel: String) -> ProgramIdentity? {
    guard let left = programs[tunnel]?.leave(store) else { return nil }
    programs[tunnel] = nil
    return left
  }

  /// Takes over a program that an earlier agent has left; false: it has ended, or its channel was not kept.
  package func adopt(_ tunnel: String, _ left: ProgramIdentity, mark: UInt32, events: @escaping (Event) -> Void) -> Bool {
    guard programs[tunnel] == nil, let channel = channels.removeValue(forKey: left.channelName) else { return false }
    // The program sees the end of the channel only if nobody else has it.
    DescriptorStore.forget(left.channelName)
    guard let process = try? ProviderProcess(left, channel: channel, mark: mark, on: loop) else { return false }
    add(process, of: tunnel, events)
    return true
  }

  /// Closes the channels that were not adopted, and ends the programs of these tunnels unless they were.
  package func endUnclaimed(_ tunnels: Set<String>) {
    for name in channels.keys { DescriptorStore.forget(name) }
    channels = [:]
    for tunnel in tunnels where programs[tunnel] == nil { groups?.end(tunnel) }
  }

  package func send(_ tunnel: String, _ bytes: [UInt8], _ attachment: ProviderSession.Attachment?) {
    programs[tunnel]?.send(bytes, attachment)
  }

  /// Attaches to a TUN device; returns its MTU.
  package func openDevice(_ tunnel: String, _ id: UInt32, link: String) throws(ProviderError) -> Int {
    guard let process = programs[tunnel] else { throw ProviderError("the provider has ended") }
    do throws(SystemError) {
      process.attachments[.granted(id: id)] = try TUNDevice.attach(to: link)
    } catch {
      throw ProviderError(error.description)
    }
    let text = (try? TextFile.read("/sys/class/net/\(link)/mtu", limit: 16)) ?? []
    return Int(String(decoding: text.prefix { (48...57).contains($0) }, as: UTF8.self)) ?? 1500
  }

  /// Connects a socket with the tunnels' mark; calls back with its own address.
  package func openSocket(
    _ tunnel: String, _ id: UInt32, _ transport: Transport, _ remote: Endpoint,
    then done: @escaping (Result<IPAddress?, ProviderError>) -> Void
  ) {
    guard let process = programs[tunnel] else { return done(.failure(ProviderError("the provider has ended"))) }
    process.openSocket(id, transport, remote, then: done)
  }

  /// Keeps a secret, at most a pipe's capacity (64 KiB), until a message takes it along.
  package func keepSecret(_ tunnel: String, _ name: ProviderSession.Attachment, _ bytes: [UInt8]) throws(ProviderError) {
    guard let process = programs[tunnel] else { throw ProviderError("the provider has ended") }
    do throws(SystemError) { process.attachments[name] = try filledPipe(bytes) } catch { throw ProviderError(error.description) }
  }

  package func end(_ tunnel: String) { programs[tunnel]?.end() }

  package func cut(_ tunnel: String) { programs[tunnel]?.cut() }

  /// Ends what an earlier agent has left: its channels are closed, and these processes have no other task.
  package func endLeftovers(except commands: Set<String>) {
    for tunnel in groups?.tunnels ?? [] where programs[tunnel] == nil && !commands.contains(tunnel) { groups?.end(tunnel) }
  }

  private func open(_ credential: ProviderCredential) throws(ProviderError) -> FileDescriptor {
    try ProviderError.checkTrust(in: credential.path, for: "the credential \(credential.name)")
    let number = Glibc.open(credential.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard number >= 0 else {
      throw ProviderError("the credential \(credential.path) cannot be opened: \(SystemError.words(errno))")
    }
    let file = FileDescriptor(owning: number)
    var status = stat()
    guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 == 0 else {
      throw ProviderError("the credential \(credential.path) has to be a file that only its owner may read", help: "chmod 0600 it")
    }
    return file
  }
}
