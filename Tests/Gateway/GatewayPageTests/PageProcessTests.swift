import Glibc
import LinuxIO
import LoginProtocol
import NetworkTypes
import PageProtocol
import SeededRandom
import TestSupport
import Testing

/// The real `roamward-gateway-web`, with this test in the role of the gateway.
private final class WebProcess {
  let channel: MessageChannel
  let process: Int32
  private var lastNumber: UInt32 = 0
  private(set) var ended: Set<UInt32> = []
  /// The questions of the process, with their connections.
  private(set) var questions: [(connection: UInt32, question: PageQuestion)] = []

  init() throws {
    let (ours, theirs) = try MessageChannel.pair()
    process = try SpawnedProgram(
      "\(Self.folder)/roamward-gateway-web", ["roamward-gateway-web", "--at-work"], environment: [],
      descriptors: [.nothing, .nothing, .inherited, .open(theirs)], company: .group
    ).start()
    channel = ours
    guard case .hello(nil) = try next() else { throw SystemError(code: EPROTO, operation: "start the page's process") }
    try channel.send(PageReply.start(hosts: ["10.77.0.1"]).frame.bytes)
  }

  deinit {
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }

  private func next() throws -> PageRequest? {
    guard channel.wait(atMost: .seconds(20)), case .message(let bytes, _) = try channel.receive() else { return nil }
    return try PageRequest(LoginFrame(body: bytes.dropFirst(2)))
  }

  /// Passes one end of a new connection to it, and returns the number and the other end.
  func connect() throws -> (number: UInt32, file: FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
    lastNumber += 1
    let (own, other) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
    try channel.send(PageReply.connection(lastNumber).frame.bytes, passing: other)
    return (lastNumber, own)
  }

  /// Answers questions until the connection has ended.
  func serve(until number: UInt32) throws {
    while !ended.contains(number) {
      switch try next() {
      case .ended(let connection): ended.insert(connection)
      case .ask(let question, let connection, let asked):
        questions.append((connection, asked))
        try channel.send(PageReply.answer(number: question, status: 200, body: #"{"user":"alice"}"#).frame.bytes)
      case .hello, nil: throw SystemError(code: EPROTO, operation: "hear from the page's process")
      }
    }
  }

  /// Sends a request; returns everything that comes back. The sender then says nothing more.
  func exchange(_ request: [UInt8]) throws -> String {
    let (number, file) = try connect()
    var rest = request[...]
    // Bytes that the process does not take any more are refused.
    while !rest.isEmpty, let count = try? file.write(rest), count > 0 { rest = rest.dropFirst(count) }
    shutdown(file.number, Int32(SHUT_WR))
    try serve(until: number)
    var answer: [UInt8] = []
    while let part = try? file.read(), !part.isEmpty { answer += part }
    return String(decoding: answer, as: UTF8.self)
  }

  /// Sends bytes, and goes away a moment later.
  func send(_ bytes: [UInt8]) throws {
    let (number, file) = try connect()
    var rest = bytes[...]
    while !rest.isEmpty, let count = try? file.write(rest), count > 0 { rest = rest.dropFirst(count) }
    // It has answered, or waits for more.
    _ = channel.wait(atMost: .milliseconds(5))
    shutdown(file.number, Int32(SHUT_RDWR))
    try serve(until: number)
  }

  func exchange(_ request: String) throws -> String { try exchange(Array(request.utf8)) }

  private static var folder: String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    return Folder.parent(of: String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }
}

@Suite("The page's process", .serialized) struct PageProcessTests {
  private static let host = "Host: 10.77.0.1\r\n"

  @Test("serves its files and answers, with what keeps browsers from other sites") func serves() throws {
    let process = try WebProcess()
    for (path, type, content) in [
      ("/", "text/html", "<title>Gateway</title>"), ("/page.js", "text/javascript", "use strict"),
      ("/page.css", "text/css", "color-scheme"),
    ] {
      let answer = try process.exchange("GET \(path) HTTP/1.1\r\n\(Self.host)\r\n")
      #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("Content-Type: \(type)") && answer.contains(content), "\(path)")
      for field in [
        "Content-Security-Policy: default-src 'none'; script-src 'self';", "Cache-Control: no-store", "X-Frame-Options: DENY",
        "X-Content-Type-Options: nosniff", "Connection: close",
      ] { #expect(answer.contains(field), "\(path): \(field)") }
      #expect(!answer.contains("Access-Control") && !answer.contains("Set-Cookie"))
    }
    let me = try process.exchange("GET /api/me HTTP/1.1\r\n\(Self.host)X-Roamward-Page: 1\r\n\r\n")
    #expect(me.hasPrefix("HTTP/1.1 200 ") && me.hasSuffix("\r\n\r\n{\"user\":\"alice\"}"), "\(me)")
    let added = try process.exchange(
      "POST /api/devices?name=phone HTTP/1.1\r\n\(Self.host)Origin: http://10.77.0.1\r\nX-Roamward-Page: 1\r\nContent-Length: 0\r\n\r\n")
    #expect(added.hasPrefix("HTTP/1.1 200 "), "\(added)")
    #expect(process.questions.map(\.question) == [.me, .addDevice(try name("phone"), publicKey: nil)])
    #expect(try process.exchange("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").hasPrefix("HTTP/1.1 421 "))
    #expect(
      try process.exchange("POST /api/devices?name=phone HTTP/1.1\r\n\(Self.host)Content-Length: 4\r\n\r\nname").hasPrefix("HTTP/1.1 413 "))
    // One request a connection: a second one behind it is not read.
    let two = try process.exchange("GET / HTTP/1.1\r\n\(Self.host)\r\nGET /page.css HTTP/1.1\r\n\(Self.host)\r\n")
    #expect(two.ranges(of: "HTTP/1.1 200 ").count == 1)
    #expect(process.questions.count == 2)
  }

  @Test("strangers' bytes end their connection alone; no question comes of them") func nonsense() throws {
    let process = try WebProcess()
    // One that says a little now and then is ended all the same.
    let (slow, file) = try process.connect()
    let began = Moment.now
    _ = try file.write(Array("GET / HTTP/1.1\r\n".utf8)[...])
    var random = SplitMix64(seed: 63)
    let model = Array("POST /api/devices?name=a HTTP/1.1\r\n\(Self.host)Origin: http://10.77.0.1\r\nContent-Length: 0\r\n\r\n".utf8)
    for round in 0..<600 {
      var bytes = model
      switch round % 4 {
      case 0: bytes = (0..<Int(random.next() % 3000)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      case 1:
        for _ in 0..<1 + random.next() % 8 { bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next()) }
      case 2: bytes = Array(bytes.prefix(Int(random.next() % UInt64(bytes.count))))
      default:
        let long = String(repeating: "a", count: Int(random.next() % 40_000))
        bytes = Array("GET /\(round % 8 < 4 ? long : "") HTTP/1.1\r\n\(Self.host)X: \(long)\r\n\r\n".utf8)
      }
      try process.send(bytes)
    }
    #expect(process.questions.isEmpty, "without the page's own field nothing is asked: \(process.questions)")
    #expect(try process.exchange("GET / HTTP/1.1\r\n\(Self.host)\r\n").hasPrefix("HTTP/1.1 200 "))
    while !process.ended.contains(slow), Moment.now - began < .seconds(30) {
      _ = try? file.write([UInt8(ascii: "x")][...])
      let next = try process.connect()
      shutdown(next.file.number, Int32(SHUT_WR))
      try process.serve(until: next.number)
      usleep(200_000)
    }
    #expect(process.ended.contains(slow), "a slow connection is still there after \(Moment.now - began)")
    #expect(kill(process.process, 0) == 0)
  }
}
