package import PolicyFiles

extension PolicyFileSystem {
  /// The same files, some of them as they would be after a change. Files that do not exist yet are added to their folders, which are
  /// created if they are missing; they belong to root.
  package func with(_ changed: [String: [UInt8]]) -> PolicyFileSystem {
    let base = self
    func parts(_ path: String) -> (folder: String, name: String) {
      guard let slash = path.lastIndex(of: "/") else { return (".", path) }
      return (slash == path.startIndex ? "/" : String(path[..<slash]), String(path[path.index(after: slash)...]))
    }
    let added = Dictionary(grouping: changed.keys.map(parts)) { $0.folder }.mapValues { $0.map(\.name) }
    var files = base
    files.names = { folder throws(FileFailure) in
      let extra = added[folder] ?? []
      do throws(FileFailure) {
        let names = try base.names(folder)
        return names + extra.filter { !names.contains($0) }
      } catch {
        guard error.isMissing, !extra.isEmpty else { throw error }
        return extra
      }
    }
    files.status = { path throws(FileFailure) in
      do throws(FileFailure) { return try base.status(path) } catch {
        if error.isMissing, changed[path] != nil { return .init(kind: .regular, mode: 0o600) }
        if error.isMissing, added[path] != nil { return .init(kind: .folder, mode: 0o755) }
        throw error
      }
    }
    files.statusOfName = nil
    if let way = base.way {
      files.way = { path throws(FileFailure) in
        if changed[path] != nil { return [.init(path: path, status: .init(kind: .regular, mode: 0o600))] }
        return try way(path)
      }
    }
    files.read = { path, limit throws(FileFailure) in
      guard let bytes = changed[path] else { return try base.read(path, limit) }
      return (Array(bytes.prefix(limit)), .init(kind: .regular, mode: 0o600))
    }
    return files
  }
}
