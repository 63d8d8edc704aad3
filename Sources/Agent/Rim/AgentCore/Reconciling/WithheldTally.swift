import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore

/// The answers that our name server has withheld, by the tunnel inside which their addresses are.
struct WithheldTally {
  private(set) var entries: [String: (answers: WithheldAnswers, at: Timestamp)] = [:]

  /// Returns whether they are the first ones of the tunnel.
  mutating func add(_ answers: WithheldAnswers, of tunnel: String, at time: Timestamp) -> Bool {
    let before = entries[tunnel]?.answers.count
    var sum = answers
    sum.count &+= before ?? 0
    entries[tunnel] = (sum, time)
    return before == nil
  }
}

extension AgentState {
  /// The tunnel that is up and has this address inside.
  func tunnel(having address: IPAddress) -> String? {
    tunnels.ordered.first { $0.machine.level.hasRoutes && $0.policyInForce.namedPrefixes.contains { $0.contains(address) } }?.policy.name
  }

  /// Withheld answers of tunnels that are up, unless the policy allows the last name meanwhile.
  var withheldReports: [StatusReport.Withheld] {
    withheld.entries.sorted { $0.key < $1.key }.compactMap { name, entry in
      guard let tunnel = tunnels[name], tunnel.machine.level.hasRoutes else { return nil }
      let isAllowed = DomainName(entry.answers.name).map { last in
        tunnels.ordered.contains { $0.policyInForce.dnsInForce.rebindAllowed.contains(where: last.isWithin) }
      }
      return isAllowed ?? false ? nil : StatusReport.Withheld(entry.answers, of: name, at: entry.at)
    }
  }
}
