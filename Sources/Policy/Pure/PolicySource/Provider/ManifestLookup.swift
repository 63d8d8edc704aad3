internal import PolicyFiles

extension Surroundings {
  /// The manifest of an installed provider, by its name or its path, and its problems.
  mutating func manifest(named name: String) throws(FileFailure) -> (manifest: ProviderManifest?, diagnostics: [Diagnostic]) {
    let candidates = name.contains("/") ? [absolutePath(of: name)] : ProviderManifest.folders.map { "\($0)/\(name).yaml" }
    for path in candidates {
      do throws(FileFailure) {
        return ProviderManifest.read(try readNamed(path).bytes, file: path)
      } catch {
        // Without it nothing of the tunnel is known.
        if leaveUnread(path, error, .policy) { return (nil, []) }
        guard error.isMissing else { throw FileFailure("\(path): \(error.reason)", cure: error.cure) }
      }
    }
    if name.contains("/") {
      throw FileFailure("there is no \(candidates[0])", cure: "a relative path begins at the policy file's folder", isMissing: true)
    }
    throw FileFailure(
      "it is not installed: there is no \(name).yaml in \(ProviderManifest.folders.joined(separator: ", "))",
      cure: "install it, or name its manifest by a path", isMissing: true)
  }
}
