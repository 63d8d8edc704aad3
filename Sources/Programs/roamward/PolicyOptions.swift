import AgentCore
import ArgumentParser
import Glibc
import LinuxPlatform
import PolicyFiles
import PolicySource
import RoamwardCore
import Terminal

struct PolicyOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Read policies from this folder or file; repeatable.",
      discussion: "Later ones override earlier ones. Default: the agent's folders.", valueName: "path"), completion: .policies)
  var policies: [String] = []

  init() {}

  /// These folders and files, as if they had been named.
  init(folders: [String]) { policies = folders }

  /// The folders and files that were named; a name that does not exist ends the program with status 2.
  func named() throws -> [String] {
    for path in policies {
      do throws(FileFailure) { _ = try PolicyFileSystem.linux.status(path) } catch {
        if error.cause == .denied { continue }
        throw ValidationError("--policies \(path): \(error.reason); name a folder of policies, or one policy file")
      }
    }
    return policies
  }

  /// The answer to files that this user may not look at.
  enum Unread {
    /// A note names those that policies name; a policy file ends the program.
    case noted
    /// As above, and the caller names them.
    case left
    /// Any of them ends the program.
    case refused
  }

  /// Loads the policies. Problems go to standard error; errors end the program with status 1. `mayBeEmpty`: no tunnel is no problem.
  func load(mayBeEmpty: Bool = false, unread: Unread = .noted) throws -> PolicySet {
    let loaded = try loadAll()
    if let note = loaded.unreadNote {
      if unread == .refused || !loaded.unreadPolicies.isEmpty {
        writeError("roamward: \(note)\n")
        throw ExitStatus.refused
      }
      if unread == .noted { writeError("note: \(note)\n") }
    }
    for diagnostic in loaded.diagnostics { writeError(diagnostic.rendered(color: usesColor) + "\n") }
    if loaded.hasErrors { throw ExitStatus.policyErrors }
    if loaded.policies.tunnels.isEmpty, !mayBeEmpty {
      let places = (policies.isEmpty ? PolicyLayers.standard : policies).joined(separator: ", ")
      writeError("roamward: no tunnels are defined in \(places)\n")
    }
    return loaded.policies
  }

  /// The same with all diagnostics.
  func loadAll() throws -> LoadedPolicies {
    let policies = try named()
    let layers = policies.isEmpty ? PolicyLayers.standard : policies
    return loadPolicies(layers: layers, files: .person, requireRootOwnership: policies.isEmpty && geteuid() == 0)
  }
}

extension PolicySet {
  /// The tunnel of this name, or the members of the group, as the user gave it.
  func meant(_ name: String) throws -> [TunnelPolicy] {
    let found = tunnels(meant: name)
    return try found.isEmpty ? [described(name)] : found
  }

  /// The tunnel of this name, as the user gave it.
  func described(_ name: String) throws -> TunnelPolicy {
    if let policy = tunnel(named: name) { return policy }
    let known = (tunnels.map(\.name) + groups.map(\.name)).joined(separator: ", ")
    throw ValidationError("no tunnel is named \"\(name)\"; known tunnels: \(known.isEmpty ? "none" : known)")
  }
}
