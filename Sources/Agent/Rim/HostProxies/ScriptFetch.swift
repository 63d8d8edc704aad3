package import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// A script that is fetched through its tunnel, again after a pause as long as that fails.
package final class ScriptFetch {
  /// The end of one attempt: the script, or the reason why there is none.
  package typealias Outcome = Result<[UInt8], Failure>
  /// Makes one attempt, which ends when the value is released; calls back once, later.
  package typealias Way = (ScriptSource, @escaping (Outcome) -> Void) -> AnyObject?

  package struct Failure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
  }

  private enum Phase {
    case asking(AnyObject?)
    case waiting(EventSource?, reason: String)
    case done
  }

  private let source: ScriptSource
  private let way: Way
  private let loop: EventLoop
  private let came: ([UInt8]?) -> Void
  private var backoff = Backoff(first: .seconds(2), longest: .seconds(60))
  private var phase = Phase.done

  /// `came`: called with the script, and with `nil` after each failure; not during this call.
  init(of source: ScriptSource, by way: @escaping Way, on loop: EventLoop, _ came: @escaping ([UInt8]?) -> Void) {
    self.source = source
    self.way = way
    self.loop = loop
    self.came = came
    ask()
  }

  /// The reason why the script has not come yet, for people.
  var trouble: String? { if case .waiting(_, let reason) = phase { reason } else { nil } }

  private func ask() {
    phase = .asking(nil)
    let attempt = way(source) { [weak self] outcome in self?.take(outcome) }
    if case .asking = phase { phase = .asking(attempt) }
  }

  private func take(_ outcome: Outcome) {
    switch outcome {
    case .success(let script):
      phase = .done
      came(script)
    case .failure(let failure):
      let pause = backoff.fail()
      phase = .waiting(try? loop.at(.now + pause) { [weak self] in self?.ask() }, reason: "\(source.url): \(failure)")
      came(nil)
    }
  }
}
