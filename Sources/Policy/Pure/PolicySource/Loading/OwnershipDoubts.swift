package import PolicyFiles
internal import RoamwardCore

extension LoadedPolicies {
  /// The reasons why an agent that runs as root would refuse these files: a warning for each file or folder with untrusted ownership.
  package func ownershipDoubts(files: PolicyFileSystem = .linux) -> [Diagnostic] {
    var told: Set<String> = []
    func doubt(_ path: String, _ subject: String, at place: SourceLocation) -> Diagnostic? {
      do throws(FileFailure) {
        // A folder that several files have in common is told once.
        guard let refusal = try files.refusal(ofPath: files.absolute(path)), told.insert(refusal.cure ?? path).inserted else { return nil }
        return Diagnostic(.warning, "an agent that runs as root would refuse \(subject): \(refusal.reason)", help: refusal.cure, at: place)
      } catch {
        return nil
      }
    }
    return read.compactMap { doubt($0.path, "this file", at: SourceLocation(file: $0.path, line: 1, column: 1)) }
      + named.compactMap { named in files.program(named: named.path).flatMap { doubt($0, $0, at: named.location) } }
  }

  /// Programs that are not there, or cannot be executed: a warning for each place that names one.
  package func programDoubts(files: PolicyFileSystem = .linux) -> [Diagnostic] {
    named.filter { $0.kind == .program }.compactMap { named in
      guard let path = files.program(named: named.path) else {
        return Diagnostic(
          .warning, "there is no program \(named.path) on PATH", help: "install it, or correct its name", at: named.location)
      }
      do throws(FileFailure) {
        let status = try files.status(path)
        if status.isProgram { return nil }
        return status.kind == .regular
          ? Diagnostic(.warning, "\(path) is not executable", help: "chmod +x \(shellWord(path))", at: named.location)
          : Diagnostic(.warning, "\(path) is not a program", help: "correct its path", at: named.location)
      } catch {
        // A program that this user may not look at is no mistake of the policy.
        guard error.isMissing else { return nil }
        return Diagnostic(.warning, "there is no program \(path)", help: "install it, or correct its path", at: named.location)
      }
    }
  }
}
