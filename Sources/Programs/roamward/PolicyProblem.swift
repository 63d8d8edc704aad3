import KernelModel
import KernelNetwork
import NetworkTypes
import PolicyLint
import PolicySource
import RoamwardCore

/// A diagnostic of `roamward check`, and its lint finding; `nil` if loading alone produced it.
struct PolicyProblem {
  var diagnostic: Diagnostic
  var finding: LintFinding?
}

extension PolicyProblem {
  /// The findings of loading and linting, and the programs that are missing, sorted by place.
  static func all(in loaded: LoadedPolicies) -> [PolicyProblem] {
    let diagnostics = loaded.diagnostics + loaded.programDoubts()
    let broken = Set(diagnostics.filter { $0.severity == .error }.map(\.location.file))
    // Rules may name networks, and tunnels, of a file that was not read.
    let findings =
      loaded.unreadPolicies.isEmpty
      ? lint(loaded.policies, unreliable: broken, ownAddresses: ownAddresses(for: loaded.policies)) : []
    let all =
      diagnostics.map { PolicyProblem(diagnostic: $0) }
      + zip(PolicySource.diagnostics(of: findings.map(WarningAtPlace.init)), findings).map(PolicyProblem.init)
    return all.enumerated().sorted {
      let (a, b) = ($0.element.diagnostic.location, $1.element.diagnostic.location)
      return (a.file, a.line, a.column, $0.offset) < (b.file, b.line, b.column, $1.offset)
    }.map(\.element)
  }

  /// This machine's addresses, if a tunnel's endpoint is a numeric address. Empty if the kernel does not report them.
  private static func ownAddresses(for policies: PolicySet) -> Set<IPAddress> {
    let namesAddress = policies.tunnels.contains { tunnel in
      guard case .wireGuard(let provider) = tunnel.provider else { return false }
      return provider.configuration?.peers.contains { $0.endpoint?.address != nil } ?? false
    }
    guard namesAddress, let state = try? KernelReader(tablesNamedBy: OtherVPNs.tables).read(neighbours: false) else { return [] }
    return Set(state.addresses.map(\.address.address))
  }
}

extension WarningAtPlace {
  fileprivate init(_ finding: LintFinding) { self.init(message: finding.message, help: finding.help, location: finding.location) }
}
