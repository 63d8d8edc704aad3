internal import ConfinedProcess
internal import Glibc
internal import HostDNS
package import KernelModel
package import LinuxIO
internal import NetworkTypes
internal import ProbeProtocol
package import SystemdIO
internal import WorkerLife

/// The address of proxies: `roamward-proxy`, a process without privileges that serves the script, and the files by which programs are given
/// the address.
package final class ProxyPublisher {
  package static let program = "roamward-proxy"
  package static let noteName = ProxyFiles.noteName
  /// A process that has worked for so long does not fail at its start.
  private static let settled = Duration.seconds(10)

  private enum Work {
    case none
    /// The process has this script, or is about to take it: connections wait meanwhile.
    case serving(ProxyScript, ScriptFetch?)

    var fetch: ScriptFetch? { if case .serving(_, let fetch) = self { fetch } else { nil } }
  }

  private let loop: EventLoop
  private let files: ProxyFiles
  private let isAgent: Bool
  private lazy var worker = WorkerSupervisor(
    Self.program, WorkerLife.Limits(settled: Self.settled), on: loop, take: { [weak self] in try self?.take(ProxyReport($0)) },
    tell: { [weak self] in self?.hear($0) })
  private var work = Work.none
  /// Whether something of ours may be in the files: they need no look otherwise.
  private var mayRemain = true
  /// Whether a call of `publish` has to say what fails.
  private var isPublishing = false
  private var failure: String?
  private var failed = FailedFiles()
  /// Called when the process has ended by itself, or may be started again, when a script has been fetched, or cannot be, and when files
  /// that could not be changed may be tried again.
  package var changed: () -> Void = {}
  /// Fetches a script through its tunnel, until the value is released.
  package var fetch: ScriptFetch.Way?

  /// `isAgent`: the process is one of this program; another program only looks for it.
  package convenience init(stateDirectory: String, on loop: EventLoop, isAgent: Bool = true) {
    self.init(ProxyFiles(stateDirectory: stateDirectory), on: loop, isAgent: isAgent)
  }

  init(_ files: ProxyFiles, on loop: EventLoop, isAgent: Bool) {
    self.files = files
    self.loop = loop
    self.isAgent = isAgent
  }

  package func observe() -> ObservedProxies {
    var observed = ObservedProxies()
    if mayRemain {
      files.observe(&observed)
      mayRemain = !isAgent || !observed.remains.isEmpty || worker.isRunning
      failed.add(to: &observed)
    }
    observed.server = server
    observed.unfetched = work.fetch?.trouble
    return observed
  }

  private var server: ObservedProxies.Server {
    guard isAgent else { return serverFromOutside }
    if case .serving(let script, _) = work, worker.isRunning { return .serving(script) }
    return worker.obstacle.map { .unavailable(reason: $0) } ?? .absent
  }

  private var serverFromOutside: ObservedProxies.Server {
    let owner = HostDNS.listener(at: ProxyPublication.address, port: ProxyPublication.port)
    guard let owner, owner.address == ProxyPublication.address, owner.program.map({ $0 == Self.program }) ?? true else { return .absent }
    return .elsewhere
  }

  /// Serves the script, and then writes the files that lead to it.
  package func publish(_ publication: ProxyPublication) throws(SystemError) {
    mayRemain = true
    (isPublishing, failure) = (true, nil)
    defer { isPublishing = false }
    try serve(publication.script)
    FaultPoint.pass("after serving \(ProxyPublication.url)")
    try changeFiles(to: publication.sinks)
  }

  /// Removes the files, and then ends the process.
  package func withdraw() throws(SystemError) {
    defer {
      worker.end()
      work = .none
    }
    try changeFiles(to: [])
  }

  private func changeFiles(to sinks: Set<ProxySink>) throws(SystemError) {
    let failures = files.publish(sinks)
    failed.take(failures, on: loop) { [weak self] in
      self?.failed.mayTry()
      self?.changed()
    }
    if let first = failures.min(by: { $0.key < $1.key }) { throw first.value }
  }

  private func serve(_ script: ProxyScript) throws(SystemError) {
    if case .serving(script, _) = work, worker.isRunning { return }
    do throws(SystemError) {
      if !worker.isRunning {
        // First of all, what may fail.
        let listener = try Self.listener()
        try worker.start()
        send(.serve)
        send(.listener, listener)
      }
    } catch {
      worker.fail(words(for: error))
      throw SystemError(code: error.code, operation: failure ?? error.operation)
    }
    send(script.bytes)
    guard case .fetched(let source, _) = script, let fetch else {
      work = .serving(script, nil)
      return
    }
    work = .serving(
      script,
      ScriptFetch(of: source, by: fetch, on: loop) { [weak self] bytes in
        if let bytes { self?.send(bytes) }
        self?.changed()
      })
  }

  private func send(_ script: [UInt8]) {
    for order in ProxyOrder.parts(of: script) { send(order) }
    send(.use)
  }

  private func send(_ order: ProxyOrder, _ passed: FileDescriptor? = nil) { worker.send(order.bytes, passing: passed) }

  private func words(for error: SystemError) -> String {
    switch error.code {
    case ENOENT: return "\(Self.program) cannot be started; cure: install the package roamward"
    case EADDRINUSE:
      let owner = HostDNS.listener(at: ProxyPublication.address, port: ProxyPublication.port)
      return owner.map { "\($0.words) has taken port \(ProxyPublication.port), at \($0.address); cure: have it listen at another address" }
        ?? "port \(ProxyPublication.port) of \(ProxyPublication.address) is taken"
    default: return "\(Self.program) cannot be started: \(error)"
    }
  }

  private func take(_ report: ProxyReport) throws {
    switch report {
    case .hello(let trouble): _ = worker.greet(trouble)
    case .done: worker.prove()
    case .result: throw ProxyReport.Malformed()
    }
  }

  private func hear(_ news: WorkerSupervisor.News) {
    switch news {
    case .failed(let reason):
      work = .none
      failure = reason
      if !isPublishing { changed() }
    case .mayStart: changed()
    }
  }

  /// A socket at the address of proxies.
  private static func listener() throws(SystemError) -> FileDescriptor {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard number >= 0 else { throw .last("make a socket") }
    let file = FileDescriptor(owning: number)
    var one: Int32 = 1
    // A restarted process need not wait for connections of the former one.
    setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = ProxyPublication.port.bigEndian
    address.sin_addr.s_addr = UInt32(truncatingIfNeeded: ProxyPublication.address.low).bigEndian
    let result = withUnsafeBytes(of: &address) { bytes in
      bytes.baseAddress.map { bind(number, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) } ?? -1
    }
    guard result == 0 else { throw .last("bind to \(ProxyPublication.address)") }
    guard listen(number, 64) == 0 else { throw .last("listen at \(ProxyPublication.address)") }
    return file
  }
}
