package import AgentCore
internal import HostProbes
internal import LinuxIO
package import NetworkTypes
package import RoamwardCore
internal import SystemdIO

/// Resolves a name as programs of this host do, waits, and describes the answer or the failure. `fate`: that of the name in the preview;
/// `servers`: those of resolv.conf; `network`: the preview's underlay.
package func inquire(about fate: NameFate, in preview: PlanPreview, on network: NetworkSnapshot, servers: [IPAddress])
  -> Result<[String], PlatformError>
{
  ask(fate.name, in: preview, servers: servers).map { answer, time in
    preview.desired.lines(of: answer, after: time, for: fate, on: network, by: preview.resolverChoice, in: preview.observed)
  }
}

/// Resolves a name as programs of this host do, and waits. Also returns the time that it took.
package func ask(_ name: DomainName, in preview: PlanPreview, servers: [IPAddress]) -> Result<(NameAnswer, Duration), PlatformError> {
  guard let loop = try? EventLoop() else { return .failure(PlatformError("cannot create an event loop")) }
  let choice = preview.resolverChoice
  let question = NameQuestion(name, on: loop)
  var outcome: Result<NameAnswer, ResolveError>?
  let begun = Moment.now
  let done: (Result<NameAnswer, ResolveError>) -> Void = { result in
    outcome = outcome ?? result
    loop.stop()
  }
  let limit = try? loop.at(.now + NameQuestion.patience * 3) { loop.stop() }
  let beginning = try? loop.at(.now) {
    if choice.backend == .resolved || choice.asksResolvedToo { question.askResolved(then: done) } else { question.ask(servers, then: done) }
  }
  _ = try? loop.run()
  withExtendedLifetime((limit, beginning, question)) {}
  switch outcome ?? .failure(.timedOut(name)) {
  case .failure(let error): return .failure(PlatformError("\(error)"))
  case .success(let answer): return .success((answer, .milliseconds(max(1, Int64((Moment.now - begun) / .milliseconds(1))))))
  }
}
