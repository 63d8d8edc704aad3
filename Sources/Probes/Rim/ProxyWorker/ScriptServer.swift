internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import ProbeProtocol

/// Serves one script by HTTP, on a socket that the agent passes in.
final class ScriptServer {
  /// Connections at a time. A further one replaces the one that has stood still for longest, or is refused: otherwise one program could
  /// take the script from all others.
  private static let mostClients = 64
  /// For a connection as a whole.
  private static let patience = Duration.seconds(10)
  /// For a request to be complete, and for each part of the answer, when others wait for the place.
  private static let standstill = Duration.seconds(1)
  private static let address = "127.82.0.80:82"

  private struct Listener {
    let file: FileDescriptor
    let source: DescriptorLoop.Source
  }

  private let loop: DescriptorLoop
  private let channel: MessageChannel
  private var reading: DescriptorLoop.Source?
  private var listener: Listener?
  /// The script so far, until it is used.
  private var draft: [UInt8] = []
  private var script: [UInt8] = []
  private var clients: [UInt64: ScriptClient] = [:]
  private var next: UInt64 = 0
  private var sweep: DescriptorLoop.Source?

  init(_ channel: MessageChannel) throws(SystemError) {
    self.channel = channel
    loop = try DescriptorLoop()
  }

  /// Serves until the channel closes.
  func run() throws(SystemError) {
    reading = try loop.whenReadable(channel.descriptor.number) { [weak self] in self?.receive() }
    _ = try loop.run()
  }

  private func receive() {
    do throws(SystemError) {
      switch try channel.receive(takesDescriptors: true) {
      case .nothing: return
      case .ended: return loop.stop()
      case .message(let bytes, let passed): try take(ProxyOrder(bytes), passed)
      }
    } catch { loop.stop() }
  }

  private func take(_ order: ProxyOrder?, _ passed: FileDescriptor?) throws(SystemError) {
    switch order {
    case .listener?:
      guard let passed else { return }
      listener = Listener(file: passed, source: try loop.whenReadable(passed.number) { [weak self] in self?.accept() })
    case .part(let part)? where draft.count + part.count <= ProxyLimits.script: draft += part
    case .use?:
      (script, draft) = (draft, [])
      try channel.send(ProxyReport.done.bytes)
    default: loop.stop()
    }
  }

  private func accept() {
    guard let file = try? listener?.file.accept() else { return }
    if clients.count >= Self.mostClients {
      guard let last = clients.min(by: { $0.value.since < $1.value.since }), last.value.since + Self.standstill <= .now else { return }
      clients[last.key] = nil
    }
    let key = next
    next += 1
    let client = ScriptClient(file, until: .now + Self.patience)
    clients[key] = client
    watch(key, client)
    sweepLater()
  }

  private func watch(_ key: UInt64, _ client: ScriptClient) {
    let isWriting = client.isWriting
    client.source = nil
    let source =
      isWriting
      ? try? loop.whenWritable(client.file.number) { [weak self] in self?.exchange(key) }
      : try? loop.whenReadable(client.file.number) { [weak self] in self?.exchange(key) }
    if let source { client.source = source } else { clients[key] = nil }
  }

  private func exchange(_ key: UInt64) {
    guard let client = clients[key] else { return }
    let wasWriting = client.isWriting
    let goesOn = client.exchange { [script] in ScriptRequest.answer(to: $0, at: Self.address, with: script) }
    guard goesOn else {
      clients[key] = nil
      return
    }
    if client.isWriting != wasWriting { watch(key, client) }
  }

  /// Ends connections whose time is over.
  private func sweepLater() {
    guard sweep == nil, let first = clients.values.map(\.end).min() else { return }
    sweep = try? loop.at(first) { [weak self] in
      guard let self else { return }
      sweep = nil
      clients = clients.filter { $0.value.end > .now }
      sweepLater()
    }
  }
}

/// One connection: its request, and then the answer.
private final class ScriptClient {
  private enum Phase {
    case request([UInt8])
    case answer(ArraySlice<UInt8>)
    /// The answer is sent: the other end closes first, so that it has read everything.
    case over
  }

  let file: FileDescriptor
  let end: Moment
  /// The moment of its start, or of the last part of the answer that it took.
  private(set) var since = Moment.now
  var source: DescriptorLoop.Source?
  private var phase = Phase.request([])

  init(_ file: FileDescriptor, until end: Moment) {
    self.file = file
    self.end = end
  }

  var isWriting: Bool { if case .answer = phase { true } else { false } }

  /// Reads and writes what is possible now. Returns whether the connection goes on.
  func exchange(_ answer: ([UInt8]) -> [UInt8]?) -> Bool {
    do throws(SystemError) {
      switch phase {
      case .over: return try file.read(atMost: 4096).map { !$0.isEmpty } ?? true
      case .request(let before):
        guard let more = try file.read(atMost: 4096) else { return true }
        if more.isEmpty { return false }
        guard let whole = answer(before + more) else {
          phase = .request(before + more)
          return true
        }
        return try send(whole[...])
      case .answer(let rest): return try send(rest)
      }
    } catch { return false }
  }

  private func send(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Bool {
    let rest = bytes.dropFirst(try file.write(bytes))
    if rest.count < bytes.count { since = .now }
    if rest.isEmpty {
      shutdown(file.number, Int32(SHUT_WR))
      phase = .over
    } else {
      phase = .answer(rest)
    }
    return true
  }
}
