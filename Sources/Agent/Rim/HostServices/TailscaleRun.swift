internal import JSON
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// Tailscale, by the LocalAPI of tailscaled: whether it is to run, and its exit node. Nothing else of it is touched.
///
/// Source: package ipn of Tailscale, `Prefs`, `MaskedPrefs`, `Notify` and `State`.
final class TailscaleRun: ServiceRun {
  static let socket = "/run/tailscale/tailscaled.sock"
  /// The name by which tailscaled knows requests that come by its socket.
  private static let host = "local-tailscaled.sock"
  /// The initial state, and no private keys.
  private static let watch = "/localapi/v0/watch-ipn-bus?mask=18"

  private let exitNode: IPAddress?
  private let path: String
  private let loop: EventLoop
  private var call: LocalHTTPCall?
  private var status = 0
  private var answer = ""
  private var wasRunning = false
  private var isOver = false
  private var news: (ServiceNews) -> Void = { _ in }

  init(_ exitNode: IPAddress?, on loop: EventLoop, path: String) {
    self.exitNode = exitNode
    self.loop = loop
    self.path = path
  }

  func start(_ news: @escaping (ServiceNews) -> Void) {
    self.news = news
    set(isRunning: true) { [weak self] reason in
      if let reason { self?.fail(reason) } else { self?.listen() }
    }
  }

  func stop(_ done: @escaping (String?) -> Void) {
    news = { _ in }
    set(isRunning: false, then: done)
  }

  private func set(isRunning: Bool, then done: @escaping (String?) -> Void) {
    var prefs: JSON = ["WantRunning": .bool(isRunning), "WantRunningSet": true]
    if let exitNode {
      let node = isRunning ? exitNode.description : ""
      prefs = [
        "WantRunning": .bool(isRunning), "WantRunningSet": true, "ExitNodeIP": .string(node), "ExitNodeIPSet": true, "ExitNodeID": "",
        "ExitNodeIDSet": true,
      ]
    }
    (status, answer) = (0, "")
    call = LocalHTTPCall("PATCH", "/localapi/v0/prefs", host: Self.host, body: prefs.text(), at: path, on: loop) { [weak self] told in
      guard let self else { return }
      switch told {
      case .status(let code): status = code
      case .line(let bytes): if answer.utf8.count < 300 { answer += String(decoding: bytes.prefix(300), as: UTF8.self) }
      case .ended(let reason?): done(Self.words(reason))
      case .ended(nil): done(status == 200 ? nil : "tailscaled refuses: \(answer.isEmpty ? "status \(status)" : answer)")
      }
    }
  }

  private static func words(_ reason: String) -> String {
    reason.contains("connect to") ? "tailscaled does not run (\(reason)); cure: systemctl start tailscaled" : "tailscaled: \(reason)"
  }

  private func listen() {
    call = LocalHTTPCall("GET", Self.watch, host: Self.host, at: path, on: loop) { [weak self] told in
      guard let self else { return }
      switch told {
      case .status(let code): if code != 200 { fail("tailscaled refuses to be watched: status \(code)") }
      case .line(let bytes): take(try? JSON(parsing: bytes))
      case .ended(let reason): fail(reason.map(Self.words) ?? "tailscaled has ended")
      }
    }
  }

  private func take(_ notice: JSON?) {
    if let words = notice?["ErrMessage"]?.string, !wasRunning { return fail(words) }
    switch notice?["State"]?.integer {
    case 6:
      guard !wasRunning else { return }
      wasRunning = true
      news(.running)
    case 2: fail("it needs a person to sign in: `tailscale up`")
    case 3: fail("an administrator of the tailnet has to admit this machine")
    case 1: fail("another user of this machine has it")
    case 4 where wasRunning: fail("somebody has stopped it")
    default: break
    }
  }

  private func fail(_ reason: String) {
    guard !isOver else { return }
    isOver = true
    news(.ended(reason: "tailscale: \(reason)"))
  }
}
