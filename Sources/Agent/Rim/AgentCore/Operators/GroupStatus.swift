import ControlProtocol
import NetworkTypes
import RoamwardCore

extension GroupReport {
  /// `nil`: the group has no member yet.
  init?(_ group: TunnelGroup, _ state: AgentState, at now: Moment, time: (Moment) -> Timestamp) {
    guard let turn = state.decisions.groups.turns[group.name] else { return nil }
    let members = turn.members.map { name in
      let again = state.decisions.groups.triedAgain(name, of: group.name).flatMap { $0 > now ? time($0) : nil }
      return Member(
        tunnel: name, role: name == turn.member ? .inUse : name == turn.trial ? .trial : .standby,
        state: state.tunnels[name]?.machine.status ?? "disconnected", triedAgain: again)
    }
    self.init(name: group.name, members: members)
  }
}
