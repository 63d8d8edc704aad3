internal import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// The sinks whose files could not be changed: they count as having an obstacle until they are tried again, after a pause that grows.
struct FailedFiles {
  private var reasons: [ProxySink: String] = [:]
  private var backoff = Backoff(first: .seconds(10), longest: .seconds(600))
  private var retry: EventSource?

  init() {}

  /// The result of a change of all files; `again` is called when they may be tried again.
  mutating func take(_ failures: [ProxySink: SystemError], on loop: EventLoop, again: @escaping () -> Void) {
    reasons = failures.mapValues(\.description)
    if failures.isEmpty {
      backoff.reset()
      retry = nil
    } else {
      retry = try? loop.at(.now + backoff.fail(), again)
    }
  }

  /// The pause is over.
  mutating func mayTry() { reasons = [:] }

  /// A file that cannot be removed now does not count either.
  func add(to observed: inout ObservedProxies) {
    for (sink, reason) in reasons where !observed.published.contains(sink) {
      observed.obstacles[sink] = observed.obstacles[sink] ?? reason
      observed.remains.remove(sink)
    }
  }
}
