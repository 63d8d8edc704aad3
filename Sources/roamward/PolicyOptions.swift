import Agent
import ArgumentParser
import Glibc
import PolicySource
import RoamwardCore

struct PolicyOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A folder of policies, or one file; repeatable, later ones beat earlier ones. Default: the agent's folders.", valueName: "path"))
  var policies: [String] = []

  /// Loads them. Problems go to standard error; errors end the program with status 1.
  func load() throws -> PolicySet {
    let loaded = loadAll()
    for diagnostic in loaded.diagnostics { writeError(diagnostic.rendered(color: usesColor) + "\n") }
    if loaded.hasErrors { throw ExitStatus.policyErrors }
    if loaded.policies.tunnels.isEmpty {
      let places = (policies.isEmpty ? PolicyLayers.standard : policies).joined(separator: ", ")
      writeError("roamward: no policy describes a tunnel in \(places)\n")
    }
    return loaded.policies
  }

  /// The same with all that there is to say of them.
  func loadAll() -> LoadedPolicies {
    loadPolicies(layers: policies.isEmpty ? PolicyLayers.standard : policies, requireRootOwnership: policies.isEmpty && geteuid() == 0)
  }
}

extension PolicySet {
  /// The tunnel of this name, which somebody has asked for.
  func described(_ name: String) throws -> TunnelPolicy {
    if let policy = tunnel(named: name) { return policy }
    let known = tunnels.map(\.name).joined(separator: ", ")
    throw ValidationError("no policy describes a tunnel named \"\(name)\"; there are: \(known.isEmpty ? "none" : known)")
  }
}
