internal import NetworkTypes
package import PolicyFiles

/// A file that was found and ignored.
package struct IgnoredFile: Equatable, Sendable {
  package let path: String
  /// The reason: `a dotfile`, `replaced by /etc/roamward/policies/10-corp.yaml`, …
  package let reason: String
  /// The file that takes its place; `nil`: none.
  package let replacement: String?
  /// Whether it only masks files of its name.
  package let isMask: Bool

  package init(path: String, reason: String, replacement: String? = nil, isMask: Bool = false) {
    self.path = path
    self.reason = reason
    self.replacement = replacement
    self.isMask = isMask
  }
}

/// The policy files of some layers, later layers over earlier ones.
package struct Layers {
  package struct Candidate: Hashable {
    package let path: String
    /// The last component of the path.
    let name: String
    package let folder: String
    /// The status of the folder itself.
    package let folderStatus: PolicyFileSystem.Status?
  }

  /// Sorted by the bytes of their names, across layers; each name once.
  package private(set) var candidates: [Candidate] = []
  package private(set) var ignored: [IgnoredFile] = []
  /// Layers that could not be read.
  package private(set) var failures: [(path: String, failure: FileFailure)] = []

  /// `paths` are folders, or single files, which may have any name.
  package init(_ paths: [String], files: PolicyFileSystem) {
    for path in paths { add(found(at: path, files: files)) }
  }

  /// Merges the files of a later layer, sorted by name.
  private mutating func add(_ later: [Candidate]) {
    if candidates.isEmpty {
      candidates = later
      return
    }
    var merged: [Candidate] = []
    merged.reserveCapacity(candidates.count + later.count)
    var rest = candidates[...]
    for candidate in later {
      while let first = rest.first, precedes(first.name, candidate.name) { merged.append(rest.removeFirst()) }
      if rest.first?.name == candidate.name {
        let replaced = rest.removeFirst()
        if replaced.path != candidate.path {
          ignored.append(IgnoredFile(path: replaced.path, reason: "replaced by \(candidate.path)", replacement: candidate.path))
        }
      }
      merged.append(candidate)
    }
    candidates = merged + rest
  }

  private mutating func found(at path: String, files: PolicyFileSystem) -> [Candidate] {
    do throws(FileFailure) {
      let status = try files.status(path)
      guard status.kind == .folder else {
        let parent = PolicySource.folder(of: path)
        return [Candidate(path: path, name: baseName(of: path), folder: parent, folderStatus: try files.status(parent))]
      }
      return sortedByBytes(try files.names(path)).compactMap { name in
        let file = joined(path, name)
        if let reason = reasonToIgnore(name) {
          ignored.append(IgnoredFile(path: file, reason: reason))
          return nil
        }
        return Candidate(path: file, name: name, folder: path, folderStatus: status)
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

private func precedes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }

/// Sorts by bytes. For ASCII that is the order of strings, which Swift compares several times faster.
private func sortedByBytes(_ names: [String]) -> [String] {
  names.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } } ? names.sorted() : names.sorted(by: precedes)
}

private func hasPolicySuffix(_ name: String) -> Bool { [".yaml", ".yml", ".json"].contains { name.hasSuffix($0) } }

/// The reason why a file name in a policy folder is not that of a policy; `nil` if it is.
func reasonToIgnore(_ name: String) -> String? {
  if isPlain(name) { return nil }
  if name.unicodeScalars.contains("\u{fffd}") { return "its name is not UTF-8" }
  if printable(name) != name || name.contains("\t") { return "its name holds control characters" }
  if name.hasPrefix(".") { return "a dotfile" }
  let leftOvers = [".swp", ".swo", ".bak", ".orig", ".tmp"]
  if name.hasSuffix("~") || name.hasPrefix("#") || leftOvers.contains(where: name.hasSuffix) { return "left over from an editor" }
  if containsDpkgSuffix(name) || [".rpmnew", ".rpmsave", ".rpmorig"].contains(where: name.hasSuffix) {
    return "left over from a package manager"
  }
  return hasPolicySuffix(name) ? nil : "not .yaml, .yml or .json"
}

/// Whether the name contains `.dpkg-`.
private func containsDpkgSuffix(_ name: String) -> Bool {
  let bytes = name.utf8
  return bytes.indices.contains { bytes[$0] == UInt8(ascii: ".") && bytes[$0...].starts(with: ".dpkg-".utf8) }
}

/// Whether the name is `NAME.yaml` with only letters, digits, `-` and `_`, as nearly all are: no other check can refuse it.
private func isPlain(_ name: String) -> Bool {
  guard name.hasSuffix(".yaml") else { return false }
  return name.utf8.dropLast(5).allSatisfy { (97...122).contains($0 | 0x20) || (48...57).contains($0) || $0 == 0x2d || $0 == 0x5f }
    && name.utf8.count > 5
}
