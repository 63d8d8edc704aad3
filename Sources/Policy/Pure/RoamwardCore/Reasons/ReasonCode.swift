/// The cause of an event, as a code that is stable across versions: in the journal (`ROAMWARD_REASON=`), in events and in `status --json`.
/// It names no place and no person. docs/operations.md lists them all.
package enum ReasonCode: String, Equatable, Sendable, CaseIterable {
  // MARK: Decisions on a tunnel

  /// A rule matches.
  case ruleMatched = "rule-matched"
  /// No rule matches.
  case noRule = "no-rule"
  /// A program has looked up a name that starts the tunnel.
  case lookup
  /// A rule requires a fact that is not known yet.
  case factPending = "fact-pending"
  /// There is no network.
  case noNetwork = "no-network"
  /// The rules have not been evaluated yet.
  case undecided
  /// `enabled: false`.
  case disabled
  /// The user that the tunnel belongs to is not logged in.
  case ownerAway = "owner-away"
  /// `on-demand: { enabled: false }`.
  case onDemandOff = "on-demand-off"
  /// Another enterprise tunnel has precedence.
  case excluded
  /// Another tunnel of its group is in use; in a note, which one that is.
  case standby
  /// The tunnel that it goes through cannot be up.
  case outerDown = "outer-down"
  /// Another tunnel goes through this one.
  case carries
  /// The tunnel that it goes through is not connected yet.
  case outerPending = "outer-pending"
  /// The rule's action neither arms the tunnel nor watches names; in a note, a setting that is not made.
  case unsupported
  /// A manual override (`up`, `down`) decides.
  case manualOverride = "manual-override"
  /// A manual override has ended.
  case overrideEnded = "override-ended"
  /// The tunnel's policy is gone.
  case policyRemoved = "policy-removed"
  /// The agent stops.
  case stopping
  /// The machine goes to sleep, and the tunnel has `disconnect-on-sleep`.
  case sleep
  /// A timer of the tunnel is pending (`timer`).
  case scheduled
  /// The tunnel is armed: it comes up at the first packet.
  case armed

  // MARK: Why a connected tunnel needs a new answer from its peer

  /// The underlay has changed to another network.
  case networkChanged = "network-changed"
  /// The machine has slept.
  case slept
  /// The agent was restarted, and has taken the tunnel over from the last one.
  case agentRestarted = "agent-restarted"
  /// Nothing was received from the peer though data was sent to it.
  case peerSilent = "peer-silent"
  /// The tunnel's provider carries no packets for now.
  case providerReasserting = "provider-reasserting"

  // MARK: Failures of an attempt, or of a connected tunnel

  /// The peer has not answered in time.
  case peerTimeout = "peer-timeout"
  /// No name server answers for the endpoint's name.
  case endpointUnresolved = "endpoint-unresolved"
  /// The endpoint's name does not exist, or has no address.
  case nameUnknown = "name-unknown"
  /// No program and no kernel module can run the tunnel.
  case engineMissing = "engine-missing"
  /// The program that runs the tunnel's link did not start, or refused its settings.
  case engineFailed = "engine-failed"
  /// The tunnel's `up` or `status` has failed.
  case commandFailed = "command-failed"
  /// The unit or the profile that is the tunnel did not start, or has ended by itself.
  case serviceFailed = "service-failed"
  /// The tunnel's provider has failed, or its program does not start.
  case providerFailed = "provider-failed"
  /// The tunnel's provider needs a person, or another policy, before it can connect.
  case actionNeeded = "action-needed"
  /// The tunnel did not start in time.
  case startTimeout = "start-timeout"
  /// Links, addresses, routes or name servers were not in place in time.
  case applyTimeout = "apply-timeout"
  /// The kernel, the firewall or the resolver refused a step.
  case stepFailed = "step-failed"
  /// The tunnel's link is gone.
  case linkGone = "link-gone"
  /// A link with the tunnel's name belongs to another program.
  case linkTaken = "link-taken"
  /// The machine is attached to a prefix of the tunnel, and `on-overlap` is `refuse`.
  case overlapRefused = "overlap-refused"
  /// The tunnel has addresses of a family that this machine has switched off.
  case familyOff = "family-off"
  /// This network has no route to the endpoints of the tunnel's peers.
  case endpointUnreachable = "endpoint-unreachable"
  /// This machine's firewall drops what is sent to the endpoint.
  case sendRefused = "send-refused"
  /// The endpoint's machine, or one on the way, says that nothing receives at its port.
  case portClosed = "port-closed"
  /// Another program has the port at which the tunnel listens.
  case portTaken = "port-taken"
  /// The peer does not answer, and this machine's clock is behind the time that it had before.
  case clockBehind = "clock-behind"
  /// Sockets of the tunnel's programs cannot be marked on this machine.
  case markUnavailable = "mark-unavailable"

  // MARK: Limits on what a policy asks for

  /// The tunnel's name servers are not applied, or not as the policy says.
  case dnsLimited = "dns-limited"
  /// Our name server withheld answers of the network's servers, because their addresses are inside the tunnel.
  case answerWithheld = "answer-withheld"
  /// An address of a name that the policy routes belongs to another name too.
  case addressShared = "address-shared"
  /// The tunnel's routes are not applied, or some addresses stay outside of them.
  case routesLimited = "routes-limited"
  /// The machine is attached to a prefix that the tunnel includes; `on-overlap` decides where it goes.
  case overlap
  /// Connections from outside get no answer, because the answers go into the tunnel or its kill switch drops them.
  case unanswered
  /// The tunnel sends a thousand times what it receives: its own packets may go round in it.
  case oneWay = "one-way"
  /// A certificate with which the tunnel signs in ends soon, or has ended.
  case credentialExpiring = "credential-expiring"
  /// The firewall cannot block what the policy asks for.
  case firewallUnavailable = "firewall-unavailable"
  /// The user who asks may not look at a file or at the firewall, so a part of the plan is not known.
  case needsRoot = "needs-root"
  /// Another program uses Roamward's objects, or keeps changing them.
  case conflict
  /// The machine cannot be observed or changed for now, or notes cannot be stored.
  case trouble

  /// Programs or tunnels that had to end with the agent have not ended in time.
  case stopTimeout = "stop-timeout"

  /// Packets of a program have a route of their own (`roamward run`).
  case programRoute = "program-route"

  // MARK: Events that concern all tunnels

  /// A new policy set is active.
  case policyLoaded = "policy-loaded"
  /// Policies have errors; the last known good ones stay active.
  case policyRefused = "policy-refused"
  /// Policies on trial were not confirmed in time; the previous set is active again.
  case trialEnded = "trial-ended"
  /// The kill switch blocks traffic, because its tunnel is down.
  case trafficBlocked = "traffic-blocked"
  /// The kill switch blocks nothing.
  case trafficFlows = "traffic-flows"
  /// A person has suspended the kill switch (`roamward release`).
  case killSwitchSuspended = "kill-switch-suspended"
  /// A person has opened the window for a captive portal.
  case portalOpened = "portal-opened"

  // MARK: Repaired changes by other programs

  /// Another program changed or removed the kill switch's table.
  case killSwitchChanged = "kill-switch-changed"
  /// Another program changed or removed the table of `names: capture`.
  case captureChanged = "capture-changed"
  /// Another program removed routing rules of the tunnels, or added some with Roamward's mark.
  case rulesChanged = "rules-changed"
  /// Another program changed routes of the tunnels' tables.
  case routesChanged = "routes-changed"
  /// Another program removed a tunnel's link, took it down or changed its settings.
  case linkChanged = "link-changed"
}
