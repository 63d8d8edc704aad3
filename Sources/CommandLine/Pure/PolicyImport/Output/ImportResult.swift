import NetworkTypes
package import PolicyFiles
package import PolicySource
import RoamwardCore

/// The files and the report of an import. Nothing is written to disk yet.
package struct ImportResult: Sendable {
  /// One tunnel: its policy, and its other files.
  package struct Tunnel: Hashable, Sendable {
    package var name: String
    /// `false`: it has to be completed by hand first.
    package var isEnabled: Bool
    /// The policy file last.
    package var files: [OutputFile]
    /// Whether the policy names the imported file, which holds a secret.
    package var usesImportedFile = false
  }

  package var tunnels: [Tunnel] = []
  package var report: ImportReport

  package var files: [OutputFile] { tunnels.flatMap(\.files) }
}

extension ImportResult {
  /// Prints the policy and reads it back as the agent would. A policy that would not load is not written. `apps`: the programs
  /// that it is for alone, as asked.
  mutating func add(_ imported: ImportedTunnel, source: String, apps: [App], beside: [OutputFile] = []) {
    var tunnel = imported
    tunnel.limit(to: apps, &report)
    if !apps.isEmpty, let first = tunnels.first {
      report.record(
        "\(tunnel.name) is for the programs of \(first.name), which has them first: name others in its `apps`", weight: .warning)
    }
    if tunnel.switches.includesAllNetworks, !tunnel.provider.canIncludeAllNetworks {
      tunnel.switches.includesAllNetworks = false
      tunnel.routes = tunnel.routes ?? RoutePolicy()
      tunnel.routes?.include = [.everything(.v4), .everything(.v6)]
      report.record(
        "\(tunnel.name): IncludeAllNetworks has become routes that include everything; what bypasses them is not blocked; for that, name the link (interface) and say include-all-networks",
        weight: .warning)
    }
    let policy = OutputFile(name: "\(tunnel.name).yaml", bytes: Array(tunnel.policyText(source: source).utf8), isSecret: false)
    let files = tunnel.files + [policy]
    let diagnostics = loadingDiagnostics(files + beside, manifest: tunnel.provider.manifest)
    let problems = diagnostics.filter { $0.severity == .error }
    for problem in problems {
      report.record(
        "the policy of \(tunnel.name) was not written, because it would not load: \(problem.message)", weight: .error)
    }
    guard problems.isEmpty else { return }
    for diagnostic in diagnostics { report.record("in the policy of \(tunnel.name): \(diagnostic.message)", weight: .warning) }
    for obstacle in tunnel.obstacles { report.record("tunnel \(tunnel.name) is off: \(obstacle)", weight: .warning) }
    if let obstacle = tunnel.ruleObstacle { report.record("the rules of \(tunnel.name) are off: \(obstacle)", weight: .warning) }
    tunnels.append(
      Tunnel(name: tunnel.name, isEnabled: tunnel.obstacles.isEmpty, files: files, usesImportedFile: tunnel.usesImportedFile))
  }
}

/// The diagnostics of these files as a separate policy folder.
package func loadingDiagnostics(_ files: [OutputFile], manifest: ProviderManifestFile? = nil) -> [Diagnostic] {
  let folder = "/import"
  let installed = manifest.map { OutputFile(name: $0.path, bytes: $0.bytes, isSecret: false) }
  let byPath = Dictionary(files.map { ("\(folder)/\($0.name)", $0) }) { first, _ in first }
  let system = PolicyFileSystem(
    names: { _ in files.map(\.name) },
    status: { path throws(FileFailure) in
      if path == folder { return .init(kind: .folder, mode: 0o755) }
      guard let file = byPath[path] ?? installed.flatMap({ $0.name == path ? $0 : nil }) else {
        throw FileFailure("No such file or directory", isMissing: true)
      }
      return .init(kind: .regular, mode: file.isSecret ? 0o600 : 0o644)
    },
    read: { path, limit throws(FileFailure) in
      guard let file = byPath[path] ?? installed.flatMap({ $0.name == path ? $0 : nil }) else {
        throw FileFailure("No such file or directory", isMissing: true)
      }
      return (Array(file.bytes.prefix(limit)), .init(kind: .regular, mode: file.isSecret ? 0o600 : 0o644))
    },
    workingDirectory: { folder })
  return loadPolicies(layers: [folder], files: system, requireRootOwnership: true).diagnostics
}
