internal import Glibc
internal import LinuxIO
package import NetworkTypes
package import RoamwardProvider
internal import WireGuardControl

/// roamward-wireguard(8) on the tunnel's device, which belongs to this user. It has the rights of this process, which are none, and
/// confines itself further. Its sockets are opened here, in the tunnel's control group, so they are outside of all tunnels.
package final class EngineProcess: ClientEngine {
  private let loop: DescriptorLoop?
  /// Has the socket by which it is configured. Without it the engine ends.
  private var folder: PrivateFolder?
  private var interface: InterfaceProcess?
  /// A process that has no device yet; until then nothing else keeps it alive.
  private var waiting: StandbyProcess?
  private var link = ""
  private var connection: FileDescriptor?
  private var sources: [DescriptorLoop.Source] = []
  private var settings: SettingsSocket?
  private var answer: [UInt8] = []
  private var ended: () -> Void = {}
  /// The callbacks of the answers that are due, the first first.
  private var questions: [(EngineReading?) -> Void] = []

  package init(host: ProviderHost) { loop = host.loop }

  deinit { stop() }

  package func prepare() {
    guard waiting == nil, interface == nil, isOnPath(InterfaceProcess.path) else { return }
    // Without one, `start` starts a process, and says what is wrong with it.
    waiting = try? StandbyProcess(program: InterfaceProcess.path, pairs: 1, isAttached: true)
  }

  package func start(on interface: String, ended: @escaping () -> Void) -> EngineTrouble? {
    endInterface()
    guard let loop else { return EngineTrouble("there is no loop") }
    guard isOnPath(InterfaceProcess.path) else {
      return EngineTrouble("roamward-wireguard is not installed: install the package of this name")
    }
    do throws(SystemError) {
      let folder = try PrivateFolder("roamward-client-")
      self.folder = folder
      let engine = try process(for: interface, in: folder.path)
      (self.interface, link) = (engine, interface)
      self.ended = ended
      let connection = try FileDescriptor.connect(to: "\(folder.path)/\(interface).sock", nonBlocking: true)
      self.connection = connection
      sources = [
        try loop.whenReadable(engine.socketsDescriptor) { [weak self] in
          if !engine.serveSockets() { self?.lost() }
        },
        try loop.whenReadable(connection.number) { [weak self] in self?.receive() },
        try loop.onExit(of: engine.process) { [weak self] _ in self?.lost() },
      ]
      return nil
    } catch {
      let isBusy = error.code == EBUSY
      // While another program has the device, the process waits on.
      if isBusy { endInterface() } else { stop() }
      return EngineTrouble("roamward-wireguard: \(error)", isBusy: isBusy)
    }
  }

  /// The process that waits gets the interface, or a new one.
  private func process(for interface: String, in folder: String) throws(SystemError) -> InterfaceProcess {
    if let standby = waiting {
      do throws(SystemError) {
        let engine = try InterfaceProcess(interface, by: standby, socketDirectory: folder)
        waiting = nil
        return engine
      } catch {
        guard error.code == EPIPE else { throw error }
        waiting = nil
      }
    }
    return try InterfaceProcess(interface, program: InterfaceProcess.path, socketDirectory: folder, pairs: 1, isAttached: true)
  }

  private func lost() {
    guard interface != nil else { return }
    let ended = ended
    stop()
    ended()
  }

  package var clock: UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return UInt64(now.tv_sec) &* 1_000_000_000 &+ UInt64(now.tv_nsec)
  }

  package func configure(_ request: String) { send(request) { _ in } }

  package func listen(at address: IPAddress, _ take: @escaping ([UInt8]) -> Void) -> EngineTrouble? {
    settings = nil
    guard let loop, interface != nil else { return EngineTrouble("there is no engine") }
    do throws(SystemError) {
      settings = try SettingsSocket(address, link: link, on: loop, take)
      return nil
    } catch {
      return EngineTrouble("\(error)")
    }
  }

  package func send(_ datagram: [UInt8], to gateway: IPAddress) { settings?.send(datagram, to: gateway) }

  package func read(_ then: @escaping (EngineReading?) -> Void) { send(EngineRequest.read, then) }

  package func openPort(from engine: UInt16, _ take: @escaping ([[UInt8]]) -> Void) -> (any EnginePort)? {
    loop.flatMap { LoopbackPort(engine, on: $0, take) }
  }

  package func stop() {
    if let process = waiting?.process { kill(process, SIGTERM) }
    waiting = nil
    endInterface()
  }

  private func endInterface() {
    sources = []
    if let process = interface?.process { kill(process, SIGTERM) }
    (connection, interface, folder, settings, answer) = (nil, nil, nil, nil, [])
    let questions = questions
    self.questions = []
    for then in questions { then(nil) }
  }

  /// Requests are short, and the socket takes them at once.
  private func send(_ request: String, _ then: @escaping (EngineReading?) -> Void) {
    let bytes = Array(request.utf8)
    guard let connection, (try? connection.write(bytes[...])) == bytes.count else { return then(nil) }
    questions.append(then)
  }

  private func receive() {
    guard let connection, let part = try? connection.read() else { return }
    answer += part
    while let end = (0..<max(0, answer.count - 1)).first(where: { answer[$0] == 10 && answer[$0 + 1] == 10 }) {
      let text = String(decoding: answer[...end], as: UTF8.self)
      answer.removeSubrange(...(end + 1))
      if !questions.isEmpty { questions.removeFirst()(EngineReading(text)) }
    }
    if part.isEmpty || answer.count > 65_536 { lost() }
  }
}
