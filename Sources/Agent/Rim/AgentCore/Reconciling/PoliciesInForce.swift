import ControlProtocol
import JSON
import NetworkTypes
import PolicySource
import RoamwardCore

/// The policy set in force, and the last one loaded: if that has errors, the set before stays in force.
struct PoliciesInForce {
  /// The effects of a loaded set.
  struct News {
    let errors: Int
    let warnings: Int
    /// Whether this is the first set.
    let isFirst: Bool
    /// Whether it says anything that the last one did not: another set, other errors, or other text.
    let isNews: Bool
    /// The last known good versions that now replace files with errors, a sentence each.
    let replacements: [String]
  }

  private(set) var loaded = LoadedPolicies()
  /// The set as the files have it.
  private(set) var files = PolicySet()
  /// The set with the options of manual overrides, and without the tunnels of users who are away.
  private(set) var set = PolicySet()
  private var starts = ManualStarts()
  /// The users who are logged in, as far as policies ask for them.
  private var users = Fact<[UserName]>.notNeeded
  /// The number of sets that came into force.
  private(set) var generation = 0
  /// False until the programs of an earlier agent have ended.
  private(set) var isLoaded = false
  private var announcedReplacements: [String] = []
  private var announcedDiagnostics: [Diagnostic]?

  mutating func take(_ new: LoadedPolicies, localTime: @escaping (Timestamp) -> String) -> News {
    defer { isLoaded = true }
    let isSameText = loaded.read == new.read
    loaded = new
    let before = generation
    let errors = new.diagnostics.count { $0.severity == .error }
    // A set that leaves the policies in force unchanged is no new set: a command writes files, and the folder tells of them later.
    if !new.hasErrors || new.lastKnownGoodUse != nil, generation == 0 || files != new.policies {
      files = new.policies
      set = files.with(startOptions: starts.options).owned(by: users)
      generation += 1
    }
    let words = new.lastKnownGoodUse?.text(localTime) ?? []
    defer { (announcedReplacements, announcedDiagnostics) = (words, new.diagnostics) }
    return News(
      errors: errors, warnings: new.diagnostics.count - errors, isFirst: !isLoaded,
      isNews: generation != before || !isSameText || announcedDiagnostics != new.diagnostics,
      replacements: words.filter { !announcedReplacements.contains($0) })
  }
}

extension PoliciesInForce {
  /// Takes the options of these overrides; those of other ones have ended. A tunnel that goes down keeps them until it is down, because
  /// nothing is to be started again.
  mutating func follow(_ overrides: [String: ManualOverride], _ decisions: [String: Decision], running: @autoclosure () -> Set<String>) {
    let mayLeave = { (name: String) in overrides[name].map { !$0.wantsUp } ?? (decisions[name]?.outcome == .disconnect) }
    guard starts.follow(overrides, leaving: { running().filter(mayLeave) }) else { return }
    set = files.with(startOptions: starts.options).owned(by: users)
  }

  /// Follows the users who log in and out. An answer that fails changes nothing.
  mutating func follow(_ users: Fact<[UserName]>) {
    if users == self.users || self.users.value != nil && users.value == nil && users != .notNeeded { return }
    self.users = users
    set = files.with(startOptions: starts.options).owned(by: users)
  }

  /// Keeps a password for the next run of the tunnel's provider, or forgets it.
  mutating func keepPassword(_ password: String?, of tunnel: String) { starts.passwords[tunnel] = password.map { Array($0.utf8) } }

  /// The password for a run that begins, once.
  mutating func takePassword(of tunnel: String) -> [UInt8]? { starts.passwords.removeValue(forKey: tunnel) }

  /// The provider of a tunnel as other processes know it: they read the files. `running`: the policy that it runs with.
  func providerForOthers(_ running: TunnelPolicy) -> RunningProvider {
    guard let file = files.tunnel(named: running.name), let own = set.tunnel(named: running.name), own.definition == running.definition
    else {
      return running.asRunning
    }
    return file.asRunning
  }

  /// The tunnels that a request to start or stop means by a name: one, or the members of a group. `hasOptions`: options for a start.
  func startable(_ name: String, wantsUp: Bool, hasOptions: Bool) throws(RequestError) -> [TunnelPolicy] {
    let meant = set.tunnels(meant: name)
    guard let first = meant.first else { throw noSuchTunnel(name) }
    guard meant.count == 1 || !hasOptions else {
      let members = meant.map(\.name).joined(separator: ", ")
      throw RequestError(code: .badRequest, message: "\(name) is a group, and options are for one tunnel: name one of \(members)")
    }
    guard !wantsUp || meant.contains(where: \.isEnabled) else { throw first.refusal }
    return meant
  }

  /// The refusal of a request for a tunnel that no policy defines.
  func noSuchTunnel(_ name: String) -> RequestError {
    guard isLoaded else {
      let words = "the agent is starting and removes leftover state (a tunnel's `down`); try again in a moment"
      return RequestError(code: .starting, message: words)
    }
    let known = (set.tunnels.map(\.name) + set.groups.map(\.name)).joined(separator: ", ")
    return RequestError(code: .noSuchTunnel, message: "no tunnel is named \"\(name)\"; known: \(known.isEmpty ? "none" : known)")
  }
}

extension TunnelPolicy {
  /// The refusal of a request to start a tunnel that may not start.
  var refusal: RequestError {
    let reason =
      availability.absentOwner.map { "belongs to \($0), who is not logged in" }
      ?? "is disabled by its policy (enabled: false, \(location.short))"
    return RequestError(code: .disabled, message: "\(name) \(reason)")
  }
}

/// The options and passwords of starts by hand.
private struct ManualStarts {
  /// By tunnel; they end with the override.
  var options: [String: JSON] = [:]
  /// By tunnel. Each is in memory alone, until a run of the provider begins.
  var passwords: [String: [UInt8]] = [:]

  /// Returns whether the options are others than before.
  mutating func follow(_ overrides: [String: ManualOverride], leaving: () -> Set<String>) -> Bool {
    if overrides.isEmpty, options.isEmpty, passwords.isEmpty { return false }
    var new = overrides.filter { $1.wantsUp && $1.options != [:] }.mapValues(\.options)
    if !options.isEmpty {
      let leaving = leaving()
      new.merge(options.filter { leaving.contains($0.key) }) { first, _ in first }
    }
    passwords = passwords.filter { overrides[$0.key]?.wantsUp ?? false }
    defer { options = new }
    return new != options
  }
}
