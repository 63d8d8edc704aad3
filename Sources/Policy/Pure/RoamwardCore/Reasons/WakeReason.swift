/// The reason why the agent wakes: in `status --json` (`last-wake`, `next-wake`) and in the log at debug level. docs/operations.md lists
/// them.
package enum WakeReason: String, Equatable, Sendable, CaseIterable {
  // MARK: Events

  /// The kernel, or another source of facts, has reported a change.
  case networkEvent = "network-event"
  /// Requested facts have arrived.
  case facts
  /// Policy files, or files that they name, have changed.
  case policies
  /// Another program has changed links, routes, rules or the firewall of a tunnel.
  case damage
  /// The machine has slept.
  case sleep
  /// A program has sent a packet into an armed tunnel.
  case packet
  /// A program has looked up a name that starts a tunnel.
  case lookup

  // MARK: Deadlines

  /// The settle time is over, which began with the first of several changes of the network.
  case networkSettled = "network-settled"
  /// The machine could not be observed; another observation is due.
  case observation
  /// Steps have failed; they are tried again.
  case retry
  /// A delayed repair of what another program keeps changing.
  case repair
  /// No repair was needed for so long that the conflict with other programs is over.
  case contestOver = "contest-over"
  /// A burst of repairs is over and is logged.
  case repairsOver = "repairs-over"
  /// Name servers are set again.
  case resolver
  /// A portal window is open: its programs are looked for.
  case portal
  /// Policies on trial were not confirmed in time.
  case trial
  /// The suspension of the kill switch ends.
  case suspensionOver = "suspension-over"
  /// The decision may change: the wait for a fact, an override or a disconnect delay ends, or a time window begins or ends.
  case rules
  /// A probe is due.
  case probe
  /// The agent stops: programs that still run are ended.
  case stop
  /// The tunnels have to react to a change of the underlay.
  case underlay
  /// A tunnel's attempt ends, or its next one begins.
  case tunnel
  /// A tunnel does not wait for name servers any longer.
  case nameServers = "name-servers"
  /// Routes to addresses of names may end.
  case routesByName = "routes-by-name"
  /// The kernel has nothing left to send for programs with a route of their own that have ended.
  case programsEnded = "programs-ended"
  /// Devices of tunnels that await an answer are read.
  case poll
  /// The device of an armed tunnel is read again: packets came that began no session, or cannot be noticed.
  case firstPacket = "first-packet"
  /// Devices of connected tunnels are read.
  case sample
}
