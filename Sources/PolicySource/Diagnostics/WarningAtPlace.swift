package import PolicyFiles
package import RoamwardCore

/// A warning about something that stands in a policy file, from a reader that has the values alone.
package struct WarningAtPlace: Hashable, Sendable {
  package var message: String
  package var help: String?
  package var location: SourceLocation

  package init(message: String, help: String?, location: SourceLocation) {
    self.message = message
    self.help = help
    self.location = location
  }
}

/// The warnings as diagnostics, in their order, each with the line of the policy file that it is about.
///
/// Every file is read once more; where that fails, or the file has changed, the warning stands without its line.
package func diagnostics(of warnings: [WarningAtPlace], files: PolicyFileSystem = .linux) -> [Diagnostic] {
  var sources: [String: SourceText] = [:]
  for path in Set(warnings.map(\.location.file)) {
    guard let bytes = try? files.readTrusted(path, requireRootOwnership: false).bytes else { continue }
    sources[path] = SourceText(file: path, bytes: bytes, masking: maskSecrets, reach: 1000)
  }
  return warnings.map { warning in
    let excerpt = sources[warning.location.file]?.excerpt(at: warning.location)
    return Diagnostic(.warning, warning.message, help: warning.help, at: warning.location, excerpt: excerpt)
  }
}
