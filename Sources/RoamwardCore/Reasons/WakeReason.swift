/// Why the agent wakes: in `status --json` (`lastWake`, `nextWake`) and in the log at debug level. docs/operations.md lists them.
package enum WakeReason: String, Hashable, Sendable, CaseIterable {
  // MARK: Something happened

  /// The kernel, or another source of facts, has reported a change.
  case networkEvent = "network-event"
  /// Facts that were asked for are there.
  case facts
  /// Policy files, or files that they name, have changed.
  case policies
  /// Another program has changed links, routes, rules or the firewall of a tunnel.
  case damage
  /// The machine has slept.
  case sleep

  // MARK: A deadline has come

  /// The network has not changed for the time to settle.
  case networkSettled = "network-settled"
  /// The machine could not be observed; it is observed again.
  case observation
  /// Steps have failed; they are tried again.
  case retry
  /// A delayed repair of what another program keeps changing.
  case repair
  /// No repair was needed for so long that no program is taken to fight the agent any more.
  case contestOver = "contest-over"
  /// A burst of repairs is over and is logged.
  case repairsOver = "repairs-over"
  /// Name servers are set again.
  case resolver
  /// A window for a captive portal is open: its programs are looked for.
  case portal
  /// Policies on trial were not confirmed in time.
  case trial
  /// The suspension of the kill switch ends.
  case suspensionOver = "suspension-over"
  /// The rules may decide otherwise: a fact is not waited for any more, an override or a release delay ends, or the
  /// clock reaches an edge of a rule.
  case rules
  /// A probe is due.
  case probe
  /// The agent stops: what still runs is ended.
  case stop
  /// The tunnels have still to take in that the network below has changed.
  case underlay
  /// A tunnel's attempt ends, or its next one begins.
  case tunnel
  /// A tunnel does not wait for name servers any longer.
  case nameServers = "name-servers"
  /// Devices of tunnels that await an answer are read.
  case poll
  /// Devices of connected tunnels are read.
  case sample
}
