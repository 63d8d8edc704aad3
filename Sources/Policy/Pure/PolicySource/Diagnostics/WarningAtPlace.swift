package import PolicyFiles
package import RoamwardCore

/// A warning about a place in a policy file, from code that has only the values.
package struct WarningAtPlace: Equatable, Sendable {
  package var message: String
  package var help: String?
  package var location: SourceLocation

  package init(message: String, help: String?, location: SourceLocation) {
    self.message = message
    self.help = help
    self.location = location
  }
}

/// The warnings as diagnostics, in their order, each with its line of the policy file.
///
/// Every file is read again. If that fails, or the file has changed, the warning has no line.
package func diagnostics(of warnings: [WarningAtPlace], files: PolicyFileSystem = .linux) -> [Diagnostic] {
  var sources: [String: SourceText] = [:]
  for path in Set(warnings.map(\.location.file)) {
    guard let bytes = try? files.readTrusted(path, requireRootOwnership: false).bytes else { continue }
    sources[path] = SourceText(policy: path, bytes)
  }
  return warnings.map { warning in
    let excerpt = sources[warning.location.file]?.excerpt(at: warning.location)
    return Diagnostic(.warning, warning.message, help: warning.help, at: warning.location, excerpt: excerpt)
  }
}
