import JSON
import NetworkTypes
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting
import Testing

/// A provider that does what a test says.
final class ScriptedProvider: TunnelProvider {
  let host: ProviderHost
  var onStart: (StartRequest) -> Void = { _ in }
  var onStop: () -> Void = {}
  var onMessage: (MessageContent, @escaping (MessageReply) -> Void) -> Void = { _, _ in }
  var onSleep: (@escaping () -> Void) -> Void = { $0() }
  var woken = 0

  init(host: ProviderHost) {
    self.host = host
    onStop = { [weak host] in host?.stopped() }
  }

  func start(_ request: StartRequest) { onStart(request) }
  func stop(_ reason: StopReason) { onStop() }
  func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) { onMessage(message, reply) }
  func sleep(done: @escaping () -> Void) { onSleep(done) }
  func wake() { woken += 1 }
}

/// The host of a provider, over the real protocol, in memory.
@Suite struct HostTests {
  /// A host whose provider connects at once.
  static func connected() -> (MemoryHost<ScriptedProvider>, ScriptedProvider) {
    let host = MemoryHost(ScriptedProvider.self)
    let provider = host.provider
    provider.onStart = { [unowned provider] _ in provider.host.apply(TunnelSettings()) { _ in provider.host.ready() } }
    host.start()
    return (host, provider)
  }

  static func failure(_ host: MemoryHost<ScriptedProvider>) -> TunnelFailure? {
    if case .failed(let failure) = host.ends.last { failure } else { nil }
  }

  @Test("credentials come by descriptor, each once; the log has none of them") func credentials() {
    let host = MemoryHost(ScriptedProvider.self)
    let provider = host.provider
    var found: [[UInt8]?] = []
    provider.onStart = { [unowned provider] _ in
      for name in ["password", "password", "key", "other"] as [Word] { found.append(provider.host.credential(name)) }
    }
    host.start(credentials: ["password": [1, 2], "key": []])
    #expect(found == [[1, 2], nil, [], nil])
  }

  @Test("the same line again and again is written once a second; others between are all written") func repeatedLines() {
    let host = MemoryHost(ScriptedProvider.self)
    host.start()
    for second in 0..<3 {
      for _ in 0..<1000 { host.provider.host.log(.warning, "tun", "read: File descriptor in bad state") }
      host.advance(by: .seconds(1))
      #expect(host.log.count == second + 1)
    }
    for number in 0..<10 { host.provider.host.log(.info, "tun", "line \(number % 2)") }
    host.advance(by: .zero)
    #expect(host.log.count == 13 && host.violations.isEmpty)
  }

  @Test("what is kept comes back with the next start, once it is kept and until it is forgotten") func keeping() {
    let (host, provider) = Self.connected()
    #expect(provider.host.credential("kept") == nil)
    provider.host.keep([7, 0, 255])
    host.advance(by: .zero)
    #expect(host.kept == [7, 0, 255])
    host.stop()
    provider.host.keep([1])
    host.advance(by: .zero)
    host.start(credentials: ["password": [2]])
    #expect(provider.host.credential("kept") == [1] && provider.host.credential("password") == [2])
    provider.host.keep([])
    host.advance(by: .zero)
    #expect(host.kept.isEmpty && host.state == .connected)
    provider.host.keep([UInt8](repeating: 0, count: 16_385))
    host.advance(by: .zero)
    #expect(Self.failure(host)?.code == "provider-error")
  }

  @Test("what a provider must not do fails its run, with the reason, and the agent sees no breach") func misuse() {
    let host = MemoryHost(ScriptedProvider.self)
    let provider = host.provider
    provider.onStart = { [unowned provider] _ in provider.host.ready() }
    host.start()
    let failure = Self.failure(host)
    #expect(failure?.code == "provider-error" && failure?.help == .nobody && failure?.text.contains("`ready` must not come") == true)
    provider.onStart = { [unowned provider] _ in provider.host.apply(TunnelSettings(mtu: 5)) { _ in } }
    host.start()
    #expect(Self.failure(host)?.text.contains("`mtu`: expected an integer from 576 to 65535") == true)
    provider.onStart = { [unowned provider] _ in provider.host.event("big", .string(String(repeating: "a", count: 70_000))) }
    host.start()
    #expect(Self.failure(host)?.text.contains("more than 65536") == true)
    provider.onStart = { [unowned provider] _ in
      provider.host.fail(TunnelFailure(code: "a", text: "", help: .time, retryAfter: .seconds(Int64.max)))
    }
    host.start()
    #expect(Self.failure(host)?.text.contains("`retry-after-ms`: expected") == true && host.violations.isEmpty && host.ends.count == 4)
    // Texts are shortened: a long one is no reason to end a run.
    provider.onStart = { [unowned provider] _ in
      provider.host.fail(TunnelFailure(code: "a", text: String(repeating: "ü", count: 9000), help: .time))
    }
    host.start()
    #expect(Self.failure(host)?.code == "a" && Self.failure(host)?.text.utf8.count ?? 0 > 3000)
  }

  @Test("after the end of a run its callbacks and timers do nothing") func late() {
    let (host, provider) = Self.connected()
    var (fired, answers) = (0, [Result<[IPAddress], Refusal>]())
    provider.host.after(.seconds(1)) { fired += 1 }
    provider.host.every(.seconds(1)) { fired += 1 }
    host.advance(by: .milliseconds(2500))
    #expect(fired == 3)
    provider.host.after(.seconds(1)) { fired += 1 }
    host.stop()
    host.advance(by: .seconds(60))
    provider.host.ready()
    provider.host.fail(TunnelFailure(code: "late", text: "", help: .time))
    provider.host.stopped()
    if let name = DomainName("a.example") { provider.host.resolve(name) { answers.append($0) } }
    #expect(fired == 3 && host.ends == [.stopped(inTime: true)] && host.state == .idle && answers.count == 1)
    guard case .failure(let refusal)? = answers.first else { return }
    #expect(refusal.code == "not-running")
  }

  @Test("a timer that is cancelled does not fire, and one that ends the run is the last") func timers() {
    let (host, provider) = Self.connected()
    var fired: [Int] = []
    let cancelled = provider.host.after(.seconds(1)) { fired.append(1) }
    provider.host.after(.seconds(2)) { [unowned provider] in
      fired.append(2)
      provider.host.fail(TunnelFailure(code: "over", text: "", help: .time, retryAfter: .seconds(7)))
    }
    provider.host.after(.seconds(2)) { fired.append(3) }
    cancelled.cancel()
    host.advance(by: .seconds(10))
    #expect(fired == [2] && Self.failure(host)?.retryAfter == .seconds(7))
  }

  @Test("a question is answered, declined, withdrawn, or nobody is there") func questions() {
    let (host, provider) = Self.connected()
    var answers: [ProviderHost.Answer] = []
    host.answers = { $0.kind == .code ? .secret([7]) : $0.kind == .text ? .secret([8]) : nil }
    provider.host.ask(Question(kind: .code, prompt: "Code")) { answers.append($0) }
    host.advance(by: .zero)
    provider.host.ask(Question(kind: .text, prompt: "Name")) { answers.append($0) }
    host.advance(by: .zero)
    let id = provider.host.ask(Question(kind: .confirm, prompt: "Sure?")) { answers.append($0) }
    host.advance(by: .zero)
    #expect(host.questions.map(\.id) == [id])
    host.answer(id, .outcome(.declined))
    let other = provider.host.ask(Question(kind: .url, prompt: "Sign in", url: "https://login.example/")) { answers.append($0) }
    host.advance(by: .zero)
    provider.host.withdraw(other)
    host.advance(by: .zero)
    #expect(answers == [.secret([7]), .secret([8]), .declined] && host.questions.isEmpty)
    host.stop()
    host.start(mayAsk: false)
    provider.host.ask(Question(kind: .password, prompt: "Password")) { answers.append($0) }
    host.advance(by: .zero)
    #expect(answers.last == .unanswered && host.violations.isEmpty)
  }

  @Test("the first reply counts; without one the application gets a timeout") func replies() {
    let (host, provider) = Self.connected()
    var later: ((MessageReply) -> Void)?
    provider.onMessage = { _, reply in
      reply(.success(.bytes([1])))
      reply(.success(.bytes([2])))
      later = reply
    }
    let first = host.send(.bytes([0]))
    #expect(host.replies[first] == .success(.bytes([1])))
    provider.onMessage = { _, reply in later = reply }
    let second = host.send(.bytes([0]), limit: .seconds(2))
    host.advance(by: .seconds(2))
    guard case .failure(let refusal) = host.replies[second] else {
      Issue.record("\(host.replies)")
      return
    }
    later?(.success(nil))
    host.advance(by: .zero)
    #expect(refusal.code == "timeout" && host.violations.isEmpty)
    // A reply that is no message is a refusal.
    provider.onMessage = { _, reply in reply(.success(.bytes([UInt8](repeating: 0, count: 40_000)))) }
    let third = host.send(.bytes([0]))
    guard case .failure(let defect) = host.replies[third] else {
      Issue.record("\(host.replies)")
      return
    }
    #expect(defect.code == "provider-error")
  }

  @Test("sleep waits for the provider, but not for ever") func sleep() {
    let (host, provider) = Self.connected()
    var done: (() -> Void)?
    provider.onSleep = { done = $0 }
    host.sleep()
    #expect(host.sleeps.isEmpty)
    done?()
    done?()
    host.advance(by: .zero)
    host.wake()
    #expect(host.sleeps == [true] && provider.woken == 1)
    host.sleep()
    host.advance(by: .seconds(4))
    #expect(host.sleeps == [true, false] && host.state == .connected)
  }

  @Test("a link drops what nobody reads, and pauses; a stream that is stalled waits") func backpressure() throws {
    let (host, provider) = Self.connected()
    var (flow, socket): ((any PacketFlow)?, (any OutsideSocket)?)
    provider.host.openDevice { flow = try? $0.get() }
    provider.host.connect(.tcp, to: Endpoint(host: .address(IPAddress(v4: 0xc000_0201)), port: 80)) { socket = try? $0.get() }
    host.advance(by: .zero)
    let packet = try #require(Packet([0x60] + [UInt8](repeating: 0, count: 39)))
    #expect(packet.family == .v6 && Packet([0x60] + [UInt8](repeating: 0, count: 38)) == nil && Packet([]) == nil)
    var batches: [Int] = []
    flow?.readPackets { batches.append($0.count) }
    flow?.pauseReading()
    host.flow?.deliver(Array(repeating: packet, count: 600))
    #expect(batches.isEmpty && host.flow?.overflow == 88)
    flow?.resumeReading()
    #expect(batches == Array(repeating: 64, count: 8))
    host.sockets[0].isStalled = true
    socket?.send([[UInt8](repeating: 1, count: 100_000)])
    var drained = 0
    socket?.whenDrained { drained += 1 }
    #expect(drained == 0 && socket?.unsentBytes == 100_000)
    host.sockets[0].isStalled = false
    #expect(drained == 1 && host.sockets[0].sent.first?.count == 100_000)
  }
}
