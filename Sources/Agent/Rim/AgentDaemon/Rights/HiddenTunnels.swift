package import AgentCore
package import ControlProtocol
internal import Glibc
internal import LinuxIO
internal import NetworkTypes

/// The tunnels that belong to users: each is shown to its owner and to root.
package final class HiddenTunnels {
  /// The numbers of owners, as the user database told them for these owners; `nil`: it knows no such user.
  private var numbers: [UserName: UInt32?] = [:]
  private var known: [String: UserName] = [:]

  package init() {}

  /// The view of those who own no tunnel.
  package static func publicView(of agent: Agent) -> Visibility { Visibility(hiding: Set(agent.owners.keys)) }

  /// The view of a caller.
  package func view(of agent: Agent, for caller: Caller) -> Visibility {
    let owners = agent.owners
    if caller.isOwner || owners.isEmpty { return Visibility(hiding: []) }
    // Other policies: users may have come and gone since.
    if owners != known { (known, numbers) = (owners, [:]) }
    return Visibility(hiding: Set(owners.lazy.filter { self.number(of: $0.value) != caller.user }.map(\.key)))
  }

  /// The refusal of a request that names a tunnel of another user, as if there were none. After the question of rights, which would tell.
  package func refusal(of request: Request, to agent: Agent, from caller: Caller) -> RequestError? {
    let hidden = view(of: agent, for: caller).hidden
    if hidden.isEmpty { return nil }
    var named = request.tunnel
    if case .run(let program) = request, let resolved = try? ProgramLaunch(agent).resolved(program) { named = resolved.tunnel }
    guard let named, hidden.contains(named) else { return nil }
    if case .run(let program) = request, program.tunnel == nil { return ProgramLaunch.refusalOfUnnamed(program.path ?? program.program) }
    return noSuchTunnel(named)
  }

  /// The status that all users see, and what owners and root see in its place.
  package func statuses(of agent: Agent) -> (ofAll: StatusReport, ofUsers: [UInt32: StatusReport]) {
    let whole = agent.status(at: .now, process: Int(getpid()))
    var ofUsers: [UInt32: StatusReport] = [:]
    for user in users(of: agent) {
      let foreign = agent.owners.filter { user != 0 && number(of: $0.value) != user }
      ofUsers[user] = Visibility(hiding: Set(foreign.keys)).shown(whole)
    }
    return (Self.publicView(of: agent).shown(whole), ofUsers)
  }

  /// The users who may know of an event that all others may not.
  package func users(of event: Event.Kind, _ agent: Agent) -> Set<UInt32> {
    let owner = event.tunnel.flatMap { agent.owners[$0] }.flatMap(number(of:))
    return Set([0] + (owner.map { [$0] } ?? []))
  }

  /// Root and the owners; none if no tunnel has one.
  private func users(of agent: Agent) -> Set<UInt32> {
    agent.owners.isEmpty ? [] : Set([0] + agent.owners.values.compactMap(number(of:)))
  }

  /// Passes a later reply on as this caller may see it.
  package func shown(
    _ finish: @escaping (Reply) -> Void, to request: Request, of agent: Agent, for caller: Caller
  ) -> (Reply) -> Void {
    { [weak self, weak agent] reply in
      guard let self, let agent else { return finish(reply) }
      finish(shown(reply, to: request, of: agent, for: caller))
    }
  }

  /// The reply for a caller: a refusal lists known names, and they may be those of other users' tunnels.
  package func shown(_ reply: Reply, to request: Request, of agent: Agent, for caller: Caller) -> Reply {
    guard case .refused(let error) = reply, error.code == .noSuchTunnel, let name = request.tunnel,
      !view(of: agent, for: caller).hidden.isEmpty
    else { return reply }
    return .refused(noSuchTunnel(name))
  }

  private func noSuchTunnel(_ name: String) -> RequestError {
    RequestError(code: .noSuchTunnel, message: "no tunnel is named \"\(name)\"")
  }

  private func number(of owner: UserName) -> UInt32? {
    if let known = numbers[owner] { return known }
    let found = getpwnam(owner.text)?.pointee.pw_uid
    numbers[owner] = .some(found)
    return found
  }
}
