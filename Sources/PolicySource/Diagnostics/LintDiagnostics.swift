package import PolicyFiles
package import RoamwardCore

/// The findings as diagnostics, in their order, each with the line of the policy file that it is about.
///
/// Every file is read once more; where that fails, or the file has changed, the finding stands without its line.
package func diagnostics(of findings: [LintFinding], files: PolicyFileSystem = .linux) -> [Diagnostic] {
  var sources: [String: SourceText] = [:]
  for path in Set(findings.map(\.location.file)) {
    guard let bytes = try? files.readTrusted(path, requireRootOwnership: false).bytes else { continue }
    sources[path] = SourceText(file: path, bytes: bytes, masking: maskSecrets, reach: 1000)
  }
  return findings.map { Diagnostic($0, in: sources[$0.location.file]) }
}

extension Diagnostic {
  fileprivate init(_ finding: LintFinding, in source: SourceText?) {
    switch finding.severity {
    case .warning:
      self.init(
        .warning, finding.message, help: finding.help, at: finding.location, excerpt: source?.excerpt(at: finding.location))
    }
  }
}
