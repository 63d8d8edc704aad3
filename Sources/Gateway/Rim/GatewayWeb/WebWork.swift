internal import Glibc
package import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import PageProtocol
internal import ProcessConfinement

/// The work of `roamward-gateway-web`: requests of HTTP on the connections that the gateway passes to it, without privileges. It knows
/// neither users nor devices: it asks the gateway, which knows whose connection it is.
package final class WebWork {
  private static let worker = ConfinedWorker(
    user: "roamward-web", descriptors: connections + 64, memory: 128 << 20, filter: WebFilter.filter)
  /// The most connections at once.
  package static let connections = PageConnections.limit
  /// A connection that is older is ended.
  package static let lifetime = Duration.seconds(10)
  /// The time that the gateway may take for an answer.
  private static let patience = Duration.seconds(8)

  private let loop: DescriptorLoop
  private let channel: MessageChannel
  private var server: HTTPServer?
  private var router = PageRouter(hosts: [])
  private var lastQuestion: UInt32 = 0
  /// By their age: numbers ascend.
  private var deadlines: [(number: UInt32, at: Moment)] = []
  /// The replies that came while an answer was awaited.
  private var waiting: [(PageReply, FileDescriptor?)] = []
  private var sources: [DescriptorLoop.Source] = []
  private var alarm: DescriptorLoop.Source?

  private init(_ channel: MessageChannel) throws(SystemError) {
    self.channel = channel
    loop = try DescriptorLoop()
    server = try HTTPServer(
      connections: Self.connections, handle: { [unowned self] in answer($0, $1) },
      ended: { [unowned self] number in
        deadlines.removeAll { $0.number == number }
        send(.ended(connection: number))
      })
  }

  /// Takes the gateway's channel, confines itself, and works until the channel closes. Errors are reported to the gateway too.
  package static func run() throws(SystemError) {
    try ConfinedWorker.onChannel(hello: { PageRequest.hello(trouble: $0).frame.bytes }) { channel throws(SystemError) in
      let work = try worker.confine(withParent: true) { () throws(SystemError) in try WebWork(channel) }
      try work.serve()
    }
  }

  /// Confines itself as for the gateway, and ends: tests whether that is possible here.
  package static func check() throws(SystemError) { try worker.confine(withParent: false) }

  private func serve() throws(SystemError) {
    guard let server else { return }
    sources = [
      try loop.whenReadable(channel.descriptor.number) { [unowned self] in receiveReplies() },
      try loop.whenReadable(server.descriptor) { [unowned self] in runServer() },
    ]
    try channel.send(PageRequest.hello(trouble: nil).frame.bytes)
    _ = try loop.run()
  }

  private func send(_ request: PageRequest) {
    // A gateway that takes nothing has stopped.
    do throws(SystemError) { try channel.send(request.frame.bytes) } catch { loop.stop() }
  }
}

// The gateway.
extension WebWork {
  /// `nil`: there is none now.
  private func nextReply() -> (PageReply, FileDescriptor?)? {
    do {
      switch try channel.receive(takesDescriptors: true) {
      case .nothing: return nil
      case .ended: loop.stop()
      case .message(let bytes, let passed): return (try PageReply(LoginFrame(body: bytes.dropFirst(2))), passed)
      }
    } catch {
      // A gateway of another version: the hello has reported it.
      loop.stop()
    }
    return nil
  }

  private func receiveReplies() {
    for _ in 0..<64 {
      guard let (reply, passed) = nextReply() else { break }
      take(reply, passed)
    }
    runServer()
  }

  private func take(_ reply: PageReply, _ passed: FileDescriptor?) {
    switch reply {
    case .start(let hosts): router = PageRouter(hosts: hosts)
    case .connection(let number):
      guard let passed else { return send(.ended(connection: number)) }
      deadlines.append((number, .now + Self.lifetime))
      server?.add(passed, as: number)
    // An answer that came too late.
    case .answer: break
    }
  }

  /// Waits for the gateway's answer: it has one thread, so nothing would be faster without.
  private func ask(_ question: PageQuestion, of connection: UInt32) -> HTTPServer.Answer {
    lastQuestion &+= 1
    send(.ask(number: lastQuestion, connection: connection, question))
    let deadline = Moment.now + Self.patience
    while Moment.now < deadline, channel.wait(atMost: deadline - .now) {
      guard let (reply, passed) = nextReply() else { break }
      if case .answer(lastQuestion, let status, let body) = reply {
        return HTTPServer.Answer(status: status, type: Self.json, body: Array(body.utf8))
      }
      if case .answer = reply { continue }
      waiting.append((reply, passed))
    }
    return Self.refusal(503, "the gateway does not answer")
  }
}

// Clients.
extension WebWork {
  private static let json = "application/json"

  /// `reason`: a text of ours, which has no character that JSON would have to quote.
  private static func refusal(_ status: UInt16, _ reason: String) -> HTTPServer.Answer {
    HTTPServer.Answer(status: status, type: json, body: Array("{\"error\":\"\(reason)\"}".utf8))
  }

  private func answer(_ number: UInt32, _ head: PageHead) -> HTTPServer.Answer {
    switch router.route(head) {
    case .file(let file): HTTPServer.Answer(status: 200, type: file.type, body: file.content)
    case .ask(let question): ask(question, of: number)
    case .refuse(let status, let reason): Self.refusal(status, reason)
    }
  }

  private func runServer() {
    guard let server else { return }
    var wait = server.run()
    while !waiting.isEmpty {
      let (reply, passed) = waiting.removeFirst()
      take(reply, passed)
      if waiting.isEmpty { wait = server.run() }
    }
    let now = Moment.now
    let late = deadlines.prefix { $0.at <= now }.map(\.number)
    if !late.isEmpty {
      for number in late { server.cut(number) }
      wait = server.run()
      deadlines.removeAll { late.contains($0.number) }
    }
    let next = [wait.map { now + $0 }, deadlines.first?.at].compactMap { $0 }.min()
    alarm = next.flatMap { next in try? loop.at(next) { [unowned self] in runServer() } }
  }
}

extension PageFile {
  var content: [UInt8] {
    switch self {
    case .document: PackageResources.page_html
    case .script: PackageResources.page_js
    case .style: PackageResources.page_css
    }
  }
}
