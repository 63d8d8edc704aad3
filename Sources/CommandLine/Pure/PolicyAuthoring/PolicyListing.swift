internal import NetworkTypes
package import PolicySource
import RoamwardCore

/// The policy files of all layers, with what they define, for `roamward list`.
package struct PolicyListing: Equatable, Sendable {
  package enum State: String, Equatable, Sendable {
    /// Its policies are in force.
    case inForce = "in-force"
    /// The file has errors. An agent keeps the last known good version in force.
    case broken
    /// This user may not read it. The agent does.
    case unread
    /// A file of the same name in a later layer replaces it.
    case masked
    /// It is empty, and masks files of its name.
    case mask
  }

  package struct File: Hashable, Sendable {
    package var path: String
    package var state: State
    /// The file that masks it.
    package var maskedBy: String?
    package var tunnels: [String] = []
    package var networks: [String] = []
    package var groups: [String] = []
    /// The messages of its errors, with their line.
    package var errors: [String] = []
  }

  /// In order of their names, as they are read; a masked file follows the one that masks it.
  package private(set) var files: [File]

  package init(_ loaded: LoadedPolicies) {
    let allErrors = Dictionary(grouping: loaded.diagnostics.filter { $0.severity == .error }) { $0.location.file }
    let tunnels = Dictionary(grouping: loaded.policies.tunnels) { $0.location.file }
    let networks = Dictionary(grouping: loaded.policies.networks) { $0.location.file }
    let groups = Dictionary(grouping: loaded.policies.groups) { $0.location.file }
    var files = loaded.files.map { path in
      let errors = allErrors[path] ?? []
      return File(
        path: path, state: loaded.unreadPolicies.contains(path) ? .unread : errors.isEmpty ? .inForce : .broken,
        tunnels: tunnels[path, default: []].map(\.name), networks: networks[path, default: []].map(\.name),
        groups: groups[path, default: []].map(\.name),
        errors: errors.map { "line \($0.location.line): \($0.message)" })
    }
    files += loaded.ignored.compactMap { file in
      if file.isMask { return File(path: file.path, state: .mask) }
      return file.replacement.map { File(path: file.path, state: .masked, maskedBy: $0) }
    }
    func key(_ file: File) -> (String, Int) {
      (file.path.split(separator: "/").last.map(String.init) ?? "", file.state == .masked ? 1 : 0)
    }
    self.files = files.sorted { key($0) < key($1) }
  }

  /// The paths of the files in force that a word means: a path, a file's name with or without its suffix, a tunnel or a network.
  package func paths(of word: String) -> [String] {
    let readable = files.filter { $0.state == .inForce || $0.state == .broken }
    let byName = readable.filter { file in
      let name = file.path.split(separator: "/").last.map(String.init) ?? file.path
      return file.path == word || name == word || name.hasPrefix("\(word).") && !name.dropFirst(word.count + 1).contains(".")
    }
    let found =
      byName.isEmpty ? readable.filter { $0.tunnels.contains(word) || $0.networks.contains(word) || $0.groups.contains(word) } : byName
    return found.map(\.path)
  }

  /// A line a file: its path, and what it defines or why it has no effect.
  package var text: String {
    let width = min(60, columns(ofWidest: files.map(\.path)))
    return files.flatMap { file -> [String] in
      var parts: [String] = []
      switch file.state {
      case .inForce, .broken:
        if !file.tunnels.isEmpty {
          parts.append("\(file.tunnels.count == 1 ? "tunnel" : "tunnels") \(file.tunnels.joined(separator: ", "))")
        }
        if !file.groups.isEmpty {
          parts.append("\(file.groups.count == 1 ? "group" : "groups") \(file.groups.joined(separator: ", "))")
        }
        if !file.networks.isEmpty {
          parts.append("\(file.networks.count == 1 ? "network" : "networks") \(file.networks.joined(separator: ", "))")
        }
        if file.state == .broken { parts.append("errors") }
        if parts.isEmpty { parts.append("nothing") }
      case .unread: parts.append("cannot be looked at as this user")
      case .masked: parts.append("masked by \(file.maskedBy ?? "")")
      case .mask: parts.append("empty: masks files of its name")
      }
      return ["\(pad(file.path, width))  \(parts.joined(separator: "; "))"] + file.errors.map { "  \($0)" }
    }.map { $0 + "\n" }.joined()
  }
}
