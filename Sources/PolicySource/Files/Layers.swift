internal import PolicyFiles

/// A file that was found and ignored.
package struct IgnoredFile: Hashable, Sendable {
  package let path: String
  /// The reason: `a dotfile`, `replaced by /etc/roamward/policies/10-corp.yaml`, …
  package let reason: String

  package init(path: String, reason: String) {
    self.path = path
    self.reason = reason
  }
}

/// The policy files of some layers, later layers over earlier ones.
struct Layers {
  struct Candidate: Hashable {
    let path: String
    let folder: String
    /// The status of the folder itself.
    let folderStatus: PolicyFileSystem.Status?
  }

  /// Sorted by the bytes of their names, across layers; each name once.
  private(set) var candidates: [Candidate] = []
  private(set) var ignored: [IgnoredFile] = []
  /// Layers that could not be read.
  private(set) var failures: [(path: String, failure: FileFailure)] = []

  /// `paths` are folders, or single files, which may have any name.
  init(_ paths: [String], files: PolicyFileSystem) {
    var byName: [String: Candidate] = [:]
    for path in paths {
      for candidate in found(at: path, files: files) {
        let name = baseName(of: candidate.path)
        if let replaced = byName.updateValue(candidate, forKey: name), replaced.path != candidate.path {
          ignored.append(IgnoredFile(path: replaced.path, reason: "replaced by \(candidate.path)"))
        }
      }
    }
    candidates = byName.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map(\.value)
  }

  private mutating func found(at path: String, files: PolicyFileSystem) -> [Candidate] {
    do throws(FileFailure) {
      let status = try files.status(path)
      guard status.kind == .folder else {
        let parent = PolicySource.folder(of: path)
        return [Candidate(path: path, folder: parent, folderStatus: try files.status(parent))]
      }
      return try files.names(path).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.compactMap { name in
        let file = joined(path, name)
        if let reason = reasonToIgnore(name) {
          ignored.append(IgnoredFile(path: file, reason: reason))
          return nil
        }
        return Candidate(path: file, folder: path, folderStatus: status)
      }
    } catch {
      if error.isMissing, !hasPolicySuffix(path) {
        ignored.append(IgnoredFile(path: path, reason: "there is no such folder"))
      } else {
        failures.append((path, error))
      }
      return []
    }
  }
}

private func hasPolicySuffix(_ name: String) -> Bool { [".yaml", ".yml", ".json"].contains { name.hasSuffix($0) } }

/// The reason why a file name in a policy folder is not that of a policy; `nil` if it is.
func reasonToIgnore(_ name: String) -> String? {
  if name.unicodeScalars.contains("\u{fffd}") { return "its name is not UTF-8" }
  if printable(name) != name || name.contains("\t") { return "its name holds control characters" }
  if name.hasPrefix(".") { return "a dotfile" }
  let leftOvers = [".swp", ".swo", ".bak", ".orig", ".tmp"]
  if name.hasSuffix("~") || name.hasPrefix("#") || leftOvers.contains(where: name.hasSuffix) { return "left over from an editor" }
  if name.contains(".dpkg-") || [".rpmnew", ".rpmsave", ".rpmorig"].contains(where: name.hasSuffix) {
    return "left over from a package manager"
  }
  return hasPolicySuffix(name) ? nil : "not .yaml, .yml or .json"
}
