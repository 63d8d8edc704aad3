package import ControlProtocol
package import KernelModel
package import NetworkTypes
package import PolicySource
package import RoamwardCore

/// Everything outside the agent, as functions: the real machine, or a scripted one in tests. All are called on the agent's one thread, and
/// none may block; what takes time calls back later, on the same thread.
package struct World {
  package var now: () -> Moment
  /// Seconds since 1970.
  package var wallClock: () -> Int64
  /// Reads the machine anew. What is asked for decides what is gathered: nobody asks for an SSID that no rule needs.
  package var observe: (Need) throws(WorldError) -> Observation
  /// Makes the changes that can be made at once, in order; gives those that failed.
  package var apply: ([Step]) -> [StepFailure]
  /// The one change that takes longer: starts a userspace WireGuard device. Calls back with what went wrong, or `nil`.
  package var startUserspaceLink: (String, @escaping (String?) -> Void) -> Void
  /// Ends what is left of a userspace device whose link has gone.
  package var endUserspaceLink: (String) -> Void
  /// Gives peers new sessions, so that each has to answer once more: the device is configured from nothing.
  package var renewSessions: (String, WireGuardDevice) -> String?
  package var wireGuardEngine: () -> EngineChoice
  /// Resolves a name on the underlay, whatever tunnels are up. Dropping what it returns ends the look-up.
  package var resolve: (DomainName, [IPAddress], String?, @escaping (Resolution) -> Void) -> AnyObject?
  /// Runs a provider's program. Dropping what it returns does not end it.
  package var run: (CommandAction, String, CommandProviderConfiguration, @escaping (CommandOutcome) -> Void) -> Void
  /// Ends what a provider still runs for a tunnel; its outcome comes soon. A world that is not told how waits for it.
  package var endRun: (String) -> Void = { _ in }
  /// Ends it now, with all that it has started.
  package var cutRun: (String) -> Void = { _ in }
  package var loadPolicies: () -> LoadedPolicies
  /// Write-ahead notes for the agent that comes after a crash.
  package var journal: Journal
  /// Sends a request from this link, whatever tunnels are up. Dropping what it returns ends it. A world that is not told how never answers.
  package var probe: (ProbeRequest, LinkFacts, @escaping (ProbeReply) -> Void) -> AnyObject? = { _, _, _ in nil }
  /// The changes that another program has to make, which keeps the resolver. Calls back with what went wrong, or `nil`, when it is seen.
  package var changeResolver: (Step, @escaping (String?) -> Void) -> Void = { _, done in done("nobody keeps the resolver") }
  /// Asks for one call back at a moment, in place of the one asked for before; `nil` asks for none.
  package var wake: (Moment?, @escaping () -> Void) -> Void
  /// Reads the WireGuard device of this link, and nothing else; `nil`: it does not answer. Default: no device answers.
  package var readDevice: (String) -> WireGuardState? = { _ in nil }
  /// Has the kernel resolve a neighbour's hardware address on this link; that it is there is an event. Default: does nothing.
  package var resolveNeighbour: (IPAddress, LinkFacts) -> Void = { _, _ in }
  /// How long the machine has slept since it started.
  package var timeAsleep: () -> Duration = { .zero }
  /// The control group of this name, if there is one with a program in it. A world that is not told how has none.
  package var controlGroup: (String) -> ControlGroup? = { _ in nil }
  /// Records what the kill switch blocks, for people who log in and for `status` without an agent; `nil`: nothing. Default: does nothing.
  package var recordBlocking: (FirewallStatus?) -> Void = { _ in }
  /// Policies on trial. A world that is not told how has none.
  package var trials = PolicyTrials()

  package init(
    now: @escaping () -> Moment, wallClock: @escaping () -> Int64, observe: @escaping (Need) throws(WorldError) -> Observation,
    apply: @escaping ([Step]) -> [StepFailure], startUserspaceLink: @escaping (String, @escaping (String?) -> Void) -> Void,
    endUserspaceLink: @escaping (String) -> Void, renewSessions: @escaping (String, WireGuardDevice) -> String?,
    wireGuardEngine: @escaping () -> EngineChoice,
    resolve: @escaping (DomainName, [IPAddress], String?, @escaping (Resolution) -> Void) -> AnyObject?,
    run: @escaping (CommandAction, String, CommandProviderConfiguration, @escaping (CommandOutcome) -> Void) -> Void,
    loadPolicies: @escaping () -> LoadedPolicies, journal: Journal, wake: @escaping (Moment?, @escaping () -> Void) -> Void
  ) {
    self.now = now
    self.wallClock = wallClock
    self.observe = observe
    self.apply = apply
    self.startUserspaceLink = startUserspaceLink
    self.endUserspaceLink = endUserspaceLink
    self.renewSessions = renewSessions
    self.wireGuardEngine = wireGuardEngine
    self.resolve = resolve
    self.run = run
    self.loadPolicies = loadPolicies
    self.journal = journal
    self.wake = wake
  }
}

/// What an observation is for.
package struct Need: Hashable, Sendable {
  package var facts: Set<FactKind>
  /// Tables that tunnels may have routes in.
  package var tables: [UInt32]
  /// Also what is ours in tables that nobody knows of: what a killed agent has left.
  package var everywhere: Bool
  /// WireGuard links to ask about.
  package var wireGuardLinks: [String]
  /// Links that tunnels of other kinds bring: that they come is news.
  package var foreignLinks: [String]
  package var firewall: FirewallNeed
  /// Links whose name servers are ours to set; `nil`: no tunnel brings any.
  package var resolverLinks: Set<String>?

  package init(
    facts: Set<FactKind> = .all, tables: [UInt32] = [], everywhere: Bool = false, wireGuardLinks: [String] = [],
    foreignLinks: [String] = [], firewall: FirewallNeed = .nothing, resolverLinks: Set<String>? = nil
  ) {
    self.resolverLinks = resolverLinks
    self.facts = facts
    self.tables = tables
    self.everywhere = everywhere
    self.wireGuardLinks = wireGuardLinks
    self.foreignLinks = foreignLinks
    self.firewall = firewall
  }
}

/// How much has to be known of our firewall table.
package enum FirewallNeed: Hashable, Sendable {
  case nothing
  /// Which one there is.
  case name
  /// And whether anybody has changed it.
  case whole
}

/// The machine at one moment: what decisions judge, and what plans change.
package struct Observation: Hashable, Sendable {
  package var snapshot: NetworkSnapshot
  package var state: ObservedState
  /// Where the snapshot's facts come from.
  package var provenance: Provenance

  package init(snapshot: NetworkSnapshot, state: ObservedState, provenance: Provenance = Provenance()) {
    self.snapshot = snapshot
    self.state = state
    self.provenance = provenance
  }
}

/// Something outside did not work, in words for people.
package struct WorldError: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String
  /// Trying again soon may help.
  package let isTransient: Bool

  package init(_ description: String, isTransient: Bool = false) {
    self.description = description
    self.isTransient = isTransient
  }
}

/// A step that could not be made.
package struct StepFailure: Hashable, Sendable, CustomStringConvertible {
  package let step: Step
  package let reason: String

  package init(step: Step, reason: String) {
    self.step = step
    self.reason = reason
  }

  package var description: String { "\(step): \(reason)" }
}

package enum EngineChoice: Hashable, Sendable {
  case engine(WireGuardEngine)
  case none(because: String)
}

package enum Resolution: Hashable, Sendable {
  case addresses([IPAddress])
  case failed(because: String)
}

package enum CommandAction: String, Hashable, Sendable {
  case up, down, status
}

package enum CommandOutcome: Hashable, Sendable {
  case succeeded
  case failed(because: String)
}

/// Notes on disk about what is being made, written before it is made.
package struct Journal {
  /// Links whose making has begun and that are not gone yet; after a crash they are ours though they may carry no alias (`KernelState.unfinished`).
  package var unfinishedLinks: () -> Set<String>
  package var noteLink: (String) -> Void
  package var forgetLink: (String) -> Void
  /// Commands whose `up` has begun: `down` is owed.
  package var startedCommands: () -> [String: CommandProviderConfiguration]
  package var noteCommand: (String, CommandProviderConfiguration) -> Void
  package var forgetCommand: (String) -> Void
  /// What people have said, which outlives the agent and the boot.
  package var holds: () -> [String: Hold]
  package var saveHolds: ([String: Hold]) -> Void
  /// What is wrong with the notes now, for people.
  package var troubles: () -> [String] = { [] }

  package init(
    unfinishedLinks: @escaping () -> Set<String>, noteLink: @escaping (String) -> Void, forgetLink: @escaping (String) -> Void,
    startedCommands: @escaping () -> [String: CommandProviderConfiguration],
    noteCommand: @escaping (String, CommandProviderConfiguration) -> Void, forgetCommand: @escaping (String) -> Void,
    holds: @escaping () -> [String: Hold], saveHolds: @escaping ([String: Hold]) -> Void
  ) {
    self.unfinishedLinks = unfinishedLinks
    self.noteLink = noteLink
    self.forgetLink = forgetLink
    self.startedCommands = startedCommands
    self.noteCommand = noteCommand
    self.forgetCommand = forgetCommand
    self.holds = holds
    self.saveHolds = saveHolds
  }
}
