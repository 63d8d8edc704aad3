internal import LinuxIO
internal import NetworkTypes
package import SystemdIO
internal import TestSupport

/// Runs an event loop until the body's second argument is called, and gives what it was called with. What the body returns is kept alive
/// until then. `TookTooLong` after `limit`.
package func onLoop<Result>(
  limit: Duration = .seconds(600), _ body: (EventLoop, @escaping (Result) -> Void) throws -> Any?
) throws -> Result {
  let loop = try EventLoop()
  var result: Result?
  let timer = try loop.at(.now + limit) { loop.stop() }
  let kept = try body(loop) {
    result = $0
    loop.stop()
  }
  _ = try loop.run()
  withExtendedLifetime((timer, kept)) {}
  guard let result else { throw TookTooLong() }
  return result
}
