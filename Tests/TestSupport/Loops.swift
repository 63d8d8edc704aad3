internal import Glibc
package import LinuxIO
internal import NetworkTypes

package struct TookTooLong: Error {
  package init() {}
}

/// Runs an event loop until the body's second argument is called, and gives what it was called with. What the body returns is kept alive
/// until then. `TookTooLong` after `limit`.
package func onLoop<Result>(
  limit: Duration = .seconds(60), _ body: (EventLoop, @escaping (Result) -> Void) throws -> Any?
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

/// Runs a line of sh(1) on this thread's namespaces; gives what it wrote. A status other than 0 throws.
@discardableResult
package func shell(_ line: String) throws -> String {
  let outcome: ChildProcess.Outcome = try onLoop { loop, done in
    try ChildProcess(["/bin/sh", "-c", line], timeout: .seconds(60), on: loop, then: done)
  }
  guard outcome.code == 0 else { throw SystemError(code: outcome.code, operation: "\(line): \(outcome.output)") }
  return outcome.output
}
