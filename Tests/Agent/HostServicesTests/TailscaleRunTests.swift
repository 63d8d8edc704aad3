import Glibc
import HostServices
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

/// The LocalAPI of tailscaled, as far as it is used: Tailscale is not in Debian, so this stands for it.
private final class TailscaledDouble {
  private let listener: FileDescriptor
  private var listening: EventSource?
  private var connections: [(FileDescriptor, EventSource?)] = []
  /// Method, path and body of each request.
  private(set) var requests: [String] = []
  var refusal: String?
  /// The notices at the start of a watch.
  var notices = ["{\"Version\":\"1.58.2\"}", "{\"State\":5}", "{\"State\":6}"]
  private var watches: [FileDescriptor] = []

  init(at path: String, on loop: EventLoop) throws {
    listener = try FileDescriptor.listen(at: path, mode: 0o600)
    listening = try loop.whenReadable(listener.number) { [weak self] in self?.accept(on: loop) }
  }

  private func accept(on loop: EventLoop) {
    guard let connection = try? listener.accept() else { return }
    let source = try? loop.whenReadable(connection.number) { [weak self] in
      guard let self, let bytes = try? connection.read(), !bytes.isEmpty else { return }
      answer(String(decoding: bytes, as: UTF8.self), connection)
    }
    connections.append((connection, source))
  }

  private func answer(_ request: String, _ connection: FileDescriptor) {
    let line = request.split(separator: "\r\n").first.map(String.init) ?? ""
    let body = request.split(separator: "\r\n\r\n").dropFirst().first.map(String.init) ?? ""
    requests.append([line, body].filter { !$0.isEmpty }.joined(separator: " "))
    if let refusal {
      say("HTTP/1.0 403 Forbidden\r\n\r\n\(refusal)\n", on: connection)
      return close(connection)
    }
    if line.hasPrefix("PATCH") {
      say("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}\n", on: connection)
      close(connection)
    } else {
      say("HTTP/1.0 200 OK\r\n\r\n" + notices.map { "\($0)\n" }.joined(), on: connection)
      watches.append(connection)
    }
  }

  private func say(_ text: String, on connection: FileDescriptor) { _ = try? connection.write(Array(text.utf8)[...]) }

  private func close(_ connection: FileDescriptor) { connections.removeAll { $0.0 === connection } }

  func tell(_ notice: String) { for watch in watches { say("\(notice)\n", on: watch) } }

  func hangUp() {
    for watch in watches { close(watch) }
    watches = []
  }
}

@Suite("Tailscale, by its LocalAPI, against a double")
struct TailscaleRunTests {
  /// Plays with a run until `play` has seen what it waits for: the news so far, and the double.
  private func play(
    _ exitNode: String? = nil, prepare: (TailscaledDouble) -> Void = { _ in },
    _ step: @escaping ([ServiceNews], TailscaledDouble) -> Bool
  ) throws -> (news: [ServiceNews], requests: [String]) {
    let folder = try TemporaryFolder()
    return try onLoop { loop, done in
      let double = try TailscaledDouble(at: "\(folder.path)/socket", on: loop)
      prepare(double)
      let service = ServiceProviderConfiguration(.tailscale(exitNode: exitNode.flatMap { IPAddress($0) }))
      let run = service.run(on: loop, tailscale: "\(folder.path)/socket")
      var news: [ServiceNews] = []
      run.start {
        news.append($0)
        if step(news, double) { done((news, double.requests)) }
      }
      return (double, run, folder)
    }
  }

  @Test("it is told to run, and watched") func starts() throws {
    let seen = try play { news, _ in news.count == 1 }
    #expect(seen.news == [.running])
    #expect(
      seen.requests == [
        "PATCH /localapi/v0/prefs HTTP/1.0 {\"WantRunning\":true,\"WantRunningSet\":true}",
        "GET /localapi/v0/watch-ipn-bus?mask=18 HTTP/1.0",
      ])
  }

  @Test("an exit node is set with it") func exitNode() throws {
    let seen = try play("100.64.0.9") { news, _ in news.count == 1 }
    #expect(seen.requests.first?.contains("\"ExitNodeIP\":\"100.64.0.9\",\"ExitNodeIPSet\":true") == true)
  }

  @Test(
    "its end is told with who can help",
    arguments: [
      ("{\"State\":4}", "tailscale: somebody has stopped it"), ("{\"State\":2}", "tailscale: it needs a person to sign in: `tailscale up`"),
      ("{\"State\":3}", "tailscale: an administrator of the tailnet has to admit this machine"), (nil, "tailscale: tailscaled has ended"),
    ] as [(String?, String)])
  func ends(notice: String?, reason: String) throws {
    let seen = try play { news, double in
      if news.count == 1 { if let notice { double.tell(notice) } else { double.hangUp() } }
      return news.count == 2
    }
    #expect(seen.news == [.running, .ended(reason: reason)])
  }

  @Test("a refusal and lines of any length and kind are bounded") func hostile() throws {
    let refused = try play(prepare: { $0.refusal = "access denied" }) { news, _ in news.count == 1 }
    #expect(refused.news == [.ended(reason: "tailscale: tailscaled refuses: access denied")])
    let odd = try play(prepare: {
      $0.notices = ["garbage", "[1]", "{\"State\":\"6\"}", "{\"NetMap\":\"\(String(repeating: "x", count: 60_000))\"}", "{\"State\":6}"]
    }) {
      news, _ in news.count == 1
    }
    #expect(odd.news == [.running])
  }

  @Test("without tailscaled the reason and the cure are told") func absent() throws {
    let reasons: [ServiceNews] = try onLoop { loop, done in
      let run = ServiceProviderConfiguration(.tailscale(exitNode: nil)).run(on: loop, tailscale: "/nonexistent/socket")
      run.start { done([$0]) }
      return run
    }
    guard case .ended(let reason)? = reasons.first else { throw SystemError(code: EIO, operation: "hear") }
    #expect(reason.hasPrefix("tailscale: tailscaled does not run") && reason.hasSuffix("cure: systemctl start tailscaled"))
  }

  @Test("a stop tells it not to run, and gives the exit node back") func stops() throws {
    let folder = try TemporaryFolder()
    let seen: [String] = try onLoop { loop, done in
      let double = try TailscaledDouble(at: "\(folder.path)/socket", on: loop)
      let run = ServiceProviderConfiguration(.tailscale(exitNode: IPAddress("100.64.0.9"))).run(
        on: loop, tailscale: "\(folder.path)/socket")
      run.stop { reason in done(double.requests + [reason ?? "stopped"]) }
      return (double, run)
    }
    #expect(seen.count == 2 && seen.last == "stopped")
    #expect(seen.first?.contains("\"WantRunning\":false,\"WantRunningSet\":true,\"ExitNodeIP\":\"\"") == true)
  }
}
