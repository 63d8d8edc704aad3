import CConfined
import Glibc
import ProbeProtocol
import ProcessConfinement
import ProxyWorker
import Testing

/// The promises about a compromised process that serves or runs scripts of proxies (docs/security-processes.md), tried on a process that
/// has confined itself by its filter.
@Suite("Confinement of the process for scripts of proxies")
struct ProxyConfinementTests {
  /// It is given its connections and its channel, with nothing to connect.
  private static let needed: Set<String> = ["sendmsg to another address", "accept"]

  /// Compiled before anything forks. No process of the test has the number 0.
  private static let filter = try? SystemCallFilter(ProxyFilter.rules(process: 0))

  @Test("refuses what a program that has been taken over would try", arguments: 0..<cconfined_count())
  func attempt(number: Int32) throws {
    _ = try #require(Self.filter)
    let name = String(cString: cconfined_name(number))
    let confined = cconfined_try(number) { ProxyConfinementTests.filter?.load() ?? EINVAL }
    switch name {
    // Numbers of another architecture end the process.
    case _ where name.hasPrefix("the numbers of"): #expect(confined == CCONFINED_KILLED, "\(name): \(confined)")
    case _ where Self.needed.contains(name): #expect(confined == CCONFINED_DONE, "\(name): \(confined)")
    default: #expect(confined == EPERM, "\(name): \(confined)")
    }
  }
}

/// Requests for the script, as strangers on this machine may send them.
@Suite struct ScriptRequestTests {
  private static let script = Array("function FindProxyForURL(url, host) { return \"PROXY a:1\"; }\r\n\0end".utf8)

  private static func answer(_ request: String) -> String? {
    ScriptRequest.answer(to: Array(request.utf8), at: "127.82.0.80:82", with: script).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("the script is given byte for byte, to GET at the literal address")
  func bytes() throws {
    for host in ["127.82.0.80:82", " \t127.82.0.80:82\t"] {
      let request = "GET /proxy.pac HTTP/1.1\r\nUser-Agent: x\r\nhost:\(host)\r\n\r\n"
      let whole = try #require(ScriptRequest.answer(to: Array(request.utf8), at: "127.82.0.80:82", with: Self.script))
      #expect(Array(whole.suffix(Self.script.count)) == Self.script)
      let head = String(decoding: whole.dropLast(Self.script.count), as: UTF8.self)
      #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n") && head.contains("\r\nCache-Control: no-cache\r\n"))
      #expect(head.contains("\r\nContent-Length: \(Self.script.count)\r\n"))
    }
  }

  @Test(
    "everything else is refused",
    arguments: [
      ("POST /proxy.pac HTTP/1.1\r\nHost: 127.82.0.80:82\r\n\r\n", "405"),
      ("HEAD /proxy.pac HTTP/1.1\r\nHost: 127.82.0.80:82\r\n\r\n", "405"),
      ("GET / HTTP/1.1\r\nHost: 127.82.0.80:82\r\n\r\n", "404"), ("GET /proxy.pac?x HTTP/1.1\r\nHost: 127.82.0.80:82\r\n\r\n", "404"),
      ("GET http://127.82.0.80:82/proxy.pac HTTP/1.1\r\nHost: 127.82.0.80:82\r\n\r\n", "404"),
      ("GET /proxy.pac HTTP/1.1\r\nHost: rebound.example\r\n\r\n", "403"), ("GET /proxy.pac HTTP/1.1\r\n\r\n", "403"),
      ("GET /proxy.pac HTTP/1.0\r\nHost: 127.82.0.80:82\r\nHost: x\r\n\r\n", "403"),
      ("GET /proxy.pac HTTP/1.1\r\nHost: 127.82.0.80\r\n\r\n", "403"), ("GET /proxy.pac HTTP/1.1\r\nHost: 127.82.0.80:8080\r\n\r\n", "403"),
      ("GET /proxy.pac\r\n\r\n", "400"), ("\r\n\r\n", "400"),
      ("\u{16}\u{3}\u{1}\r\n\r\n", "400"), (String(repeating: "x", count: 8193), "431"),
      ("GET /proxy.pac HTTP/1.1\r\nX: \(String(repeating: "x", count: 9000))\r\n\r\n", "431"),
    ])
  func refused(request: String, status: String) {
    let answer = Self.answer(request)
    #expect(answer?.hasPrefix("HTTP/1.1 \(status) ") == true && answer?.contains("FindProxyForURL") == false, "\(answer ?? "nothing")")
  }

  @Test("a request that is not complete is awaited")
  func incomplete() {
    for request in ["", "GET", "GET /proxy.pac HTTP/1.1\r\nHost: 127.82.0.80:82\r\n"] { #expect(Self.answer(request) == nil) }
  }

  @Test("messages are read as they were written, and any bytes give a message or an error")
  func messages() throws {
    let script = [UInt8](repeating: 7, count: ProxyLimits.part * 2 + 5)
    let parts = ProxyOrder.parts(of: script)
    #expect(parts.count == 3)
    for order in parts + [.serve, .evaluate, .listener, .use, .find(url: "http://a/", host: "a", ownAddress: "192.0.2.1")] {
      #expect(ProxyOrder(order.bytes) == order)
    }
    for report in [ProxyReport.hello(trouble: nil), .hello(trouble: "no"), .done, .result("DIRECT"), .result(nil)] {
      #expect(try ProxyReport(report.bytes) == report)
    }
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
      _ = ProxyOrder(bytes)
      _ = try? ProxyReport(bytes)
    }
    #expect(throws: ProxyReport.Malformed.self) { try ProxyReport([UInt8(ascii: "R")] + [UInt8](repeating: 65, count: 1001)) }
  }
}
