package import AgentCore
internal import HostProbes
internal import LinuxIO
package import NetworkTypes
package import RoamwardCore
internal import SystemdIO

/// Resolves a name as programs of this host do, waits, and describes the answer or the failure. `servers`: those of resolv.conf.
package func inquire(about fate: NameFate, by choice: ResolverChoice, servers: [IPAddress]) -> Result<[String], PlatformError> {
  guard let loop = try? EventLoop() else { return .failure(PlatformError("cannot create an event loop")) }
  let question = NameQuestion(fate.name, on: loop)
  var outcome: Result<NameQuestion.Answer, ResolveError>?
  let begun = Moment.now
  let done: (Result<NameQuestion.Answer, ResolveError>) -> Void = { result in
    outcome = outcome ?? result
    loop.stop()
  }
  let limit = try? loop.at(.now + NameQuestion.patience * 3) { loop.stop() }
  let beginning = try? loop.at(.now) {
    if choice.backend == .resolved || choice.asksResolvedToo { question.askResolved(then: done) } else { question.ask(servers, then: done) }
  }
  _ = try? loop.run()
  withExtendedLifetime((limit, beginning, question)) {}
  switch outcome ?? .failure(.timedOut(fate.name)) {
  case .failure(let error): return .failure(PlatformError("\(error)"))
  case .success(let answer):
    let time = text(for: .milliseconds(max(1, Int64((Moment.now - begun) / .milliseconds(1)))))
    let addresses = answer.addresses.map(\.description).joined(separator: ", ")
    let askee = fate.askees.first { askee in askee.link == answer.by || askee.servers.contains { $0.description == answer.by } }
    let who = answer.by.map { by in askee?.tunnel.map { "\(by) (\($0))" } ?? by } ?? "this machine (/etc/hosts, or a cache)"
    var lines = ["answered by \(who) in \(time): \(addresses)"]
    if askee == nil, answer.by != nil { lines.append("the plan would use another server: its DNS settings are not active now") }
    return .success(lines)
  }
}
