package import PolicyFiles
internal import RoamwardCore

extension LoadedPolicies {
  /// The reasons why an agent that runs as root would refuse these files: a warning for each file and folder with untrusted ownership.
  package func ownershipDoubts(files: PolicyFileSystem = .linux) -> [Diagnostic] {
    let policies = Set(self.files)
    var told: Set<String> = []
    return read.flatMap { file in
      ([file.path] + (policies.contains(file.path) ? [folder(of: file.path)] : [])).compactMap { path -> Diagnostic? in
        guard told.insert(path).inserted, let status = try? files.status(path) else { return nil }
        let subject = path == file.path ? "it" : "its folder \(path)"
        guard let refusal = status.refusal(of: path, called: subject) else { return nil }
        return Diagnostic(
          .warning, "an agent that runs as root would refuse this file: \(refusal.reason)", help: refusal.cure,
          at: SourceLocation(file: file.path, line: 1, column: 1))
      }
    }
  }
}
