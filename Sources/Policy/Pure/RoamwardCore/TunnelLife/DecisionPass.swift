package import NetworkTypes

/// The inputs and the results of one evaluation of the rules by the agent: `DecisionScheduler` decides the same from the same inputs.
package struct DecisionPass: Sendable {
  package var now: Moment
  /// Wall-clock time.
  package var time: Timestamp
  package var generation: Int
  package var policies: PolicySet
  package var snapshot: NetworkSnapshot
  /// The time of the last network change.
  package var changedAt: Moment?
  /// The tunnels that were up or coming up.
  package var running: Set<String>
  package var overrides: [String: ManualOverride]
  /// The ends of the waits for facts, before the evaluation and after it.
  package var waits: (before: [String: Moment], after: [String: Moment])
  /// The members of groups that were in use.
  package var turns: [String: GroupTurn]
  package var decisions: [Decision]

  package init(
    at now: Moment, time: Timestamp, generation: Int, policies: PolicySet, snapshot: NetworkSnapshot, changedAt: Moment?,
    running: Set<String>, overrides: [String: ManualOverride], waits: (before: [String: Moment], after: [String: Moment]),
    turns: [String: GroupTurn] = [:], decisions: [Decision]
  ) {
    self.now = now
    self.time = time
    self.generation = generation
    self.policies = policies
    self.snapshot = snapshot
    self.changedAt = changedAt
    self.running = running
    self.overrides = overrides
    self.waits = waits
    self.turns = turns
    self.decisions = decisions
  }
}
