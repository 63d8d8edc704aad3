package import NetworkTypes

/// Turns snapshots, policies and manual overrides into an intent for each tunnel, now and at the next deadline.
///
/// It contains everything that depends on time: decisions that wait for a fact, delayed disconnects, overrides that end, time windows.
package struct DecisionScheduler: Sendable {
  package struct TunnelVerdict: Equatable, Sendable {
    package var policy: TunnelPolicy
    package var decision: Decision
    /// The intent for now.
    package var intent: Intent
    /// The intent for the kill switch: it stays active for a tunnel that gives way to another one, while its rules want it.
    package var guarding: Intent
    /// Whether the decision or its reason has changed.
    package var isNews: Bool
  }

  package private(set) var decisions: [String: Decision] = [:]
  /// The last decisions that rules have made and that were acted on. Names stay watched by them while a fact is awaited, while a network
  /// settles, and between two networks.
  package private(set) var settled: [String: Decision] = [:]
  package private(set) var overrides: [String: ManualOverride]
  /// When the waits for facts end.
  package private(set) var waits: [String: Moment] = [:]
  private var releases: [String: DisconnectDelay] = [:]
  /// When the settle time ends for tunnels with a longer one of their own.
  private var settling: [String: Moment] = [:]
  /// When the network has settled; `nil`: it has. Until then no delayed disconnect ends.
  private var settlesAt: Moment?
  /// The tunnels whose decisions wait until the network has settled: what was in force before them still is.
  package private(set) var held: Set<String> = []
  private var last = LastDecisions()
  /// The members of groups that are in use.
  package private(set) var groups = GroupChoices()

  /// `overrides`: the manual overrides of an earlier agent.
  package init(overrides: [String: ManualOverride] = [:]) { self.overrides = overrides }

  /// Puts overrides and waits in the place of its own: those of a recorded evaluation. `waits`: `nil` leaves them.
  /// `turns`: `nil` leaves those of the groups.
  package mutating func replay(overrides: [String: ManualOverride], waits: [String: Moment]?, turns: [String: GroupTurn]? = nil) {
    self.overrides = overrides
    groups = turns.map { GroupChoices(turns: $0) } ?? groups
    self.waits = waits ?? self.waits
  }

  /// Chooses the member of each group that is in use, by the members' conditions now.
  package mutating func choose(of policies: PolicySet, _ condition: (String) -> MemberCondition, at now: Moment) {
    groups.follow(policies, overrides: overrides, condition, at: now)
  }

  /// The decisions of the last call of `decide`, in the order of the policies.
  package var all: [Decision] { last.acted }

  /// Decides for every tunnel. `time` is wall-clock time; `isRunning` says whether a tunnel is up or coming up, and so can disconnect. A
  /// network that is unchanged since `changed`, or always, is acted on after the tunnel's own settle time. Before `settlesAt`, tunnels
  /// start that start at once (`startingAtOnce`), and people's overrides count; all else waits.
  ///
  /// `isComplete`: the verdicts of all tunnels are returned. Otherwise those are left out that are at rest: down, with the decision and the
  /// intent of the last call, and of no concern to other tunnels, names and the firewall.
  package mutating func decide(
    on policies: PolicySet, _ snapshot: NetworkSnapshot, changed: Moment? = nil, settlesAt: Moment? = nil, at now: Moment,
    time: Timestamp, isComplete: Bool = true, isRunning: (String) -> Bool
  ) -> [TunnelVerdict] {
    settling = [:]
    let settlesAt = settlesAt.flatMap { now < $0 ? $0 : nil }
    self.settlesAt = settlesAt
    held = []
    let starting = settlesAt.map { _ in startingAtOnce(on: policies, snapshot, isRunning: isRunning) } ?? []
    let evaluator = Evaluator(networks: policies.networks)
    let prepared = evaluator.prepare(snapshot)
    last.follow(policies)
    let sieve = policies.sieve
    var (claims, judgements): ([Exclusion.Claim], [(place: Int, decider: SieveOfSet.Decider, decision: Decision)]) = ([], [])
    for place in policies.tunnels.indices {
      let decider = sieve.decider(at: place, on: prepared)
      let name = policies.tunnels[place].name
      let (override, isRunning) = (overrides[name], isRunning(name))
      let mayRest = !isComplete && override == nil && !isRunning
      if mayRest, last.isAtRest(place, by: decider) { continue }
      let tunnel = policies.tunnels[place]
      let decision = decide(tunnel, evaluator, prepared, now)
      if mayRest, last.rests(place, with: decision, by: decider) { continue }
      claims.append(Exclusion.Claim(tunnel, decision, override: override, isRunning: isRunning))
      judgements.append((place, decider, decision))
    }
    let all = Exclusion.settle(claims, groups: policies.groups, turns: groups.turns)
    return zip(all.claims, judgements).map { claim, judgement in
      let tunnel = claim.tunnel
      let decision = judgement.decision.acted(by: tunnel, all)
      let isNews = decision.isNews(after: decisions[tunnel.name])
      decisions[tunnel.name] = decision
      let override = claim.override
      var intent = claim.intent
      let isRunning = claim.isRunning
      let timing = tunnel.onDemand.timing
      // Neither a person's wish for another tunnel nor an outer tunnel that cannot be up is of this network.
      let givesWayAtOnce = all.blocked[tunnel.name] != nil || all.losers[tunnel.name].map { overrides[$0] != nil } ?? false
      // Watching look-ups moves no tunnel, and a look-up does not wait.
      let actsAtOnce = starting.contains(tunnel.name) || givesWayAtOnce || !claim.isRunning && intent == .watched
      let isHeld = override == nil && tunnel.isEnabled && settlesAt != nil && !actsAtOnce
      if decision.isSettled, !isHeld { settled[tunnel.name] = decision }
      if isHeld, let settlesAt {
        held.insert(tunnel.name)
        if intent != .unchanged, intent != (isRunning ? .up : .down) { settling[tunnel.name] = settlesAt }
        intent = .unchanged
      } else if let winner = all.losers[tunnel.name] {
        intent = isSettling(winner, in: all.claims, since: changed, at: now) ? .unchanged : .down
        delay(tunnel.name) { $0.cancel(isRunning: isRunning, at: now) }
      } else if all.blocked[tunnel.name] != nil {
        intent = .down
        delay(tunnel.name) { $0.cancel(isRunning: isRunning, at: now) }
      } else if override == nil, tunnel.isEnabled, let changed, let settle = timing.settle, now < changed + settle {
        settling[tunnel.name] = changed + settle
        intent = .unchanged
      } else if override == nil, tunnel.isEnabled {
        intent = delay(tunnel.name) {
          $0.handle(intent, isRunning: isRunning, delay: timing.releaseDelay, dwell: timing.minimumDwell, at: now)
        }
      } else {
        delay(tunnel.name) { $0.cancel(isRunning: isRunning, at: now) }
      }
      let isAtRest =
        !isHeld && !isRunning && override == nil && [.down, .unchanged].contains(intent) && intent == claim.intent
        && decision.carries == nil && decision.inert?.isOfOthers != true && releases[tunnel.name] == nil && timing.settle == nil
        && policies.concernsItselfAlone(tunnel.name)
      last.record(judgement.decision, by: judgement.decider, acted: decision, at: judgement.place, isAtRest: isAtRest)
      return TunnelVerdict(
        policy: tunnel, decision: decision, intent: intent,
        guarding: all.standby[tunnel.name] != nil || all.isHeld(tunnel.name) && [.up, .armed].contains(claim.intent)
          ? claim.intent : intent,
        isNews: isNews)
    }
  }

  /// Moves the delay of a tunnel. Only one that has run has a delay to remember.
  private mutating func delay<Result>(_ tunnel: String, _ move: (inout DisconnectDelay) -> Result) -> Result {
    let before = releases[tunnel]
    var delay = before ?? DisconnectDelay()
    let result = move(&delay)
    if before != nil || delay != DisconnectDelay() { releases[tunnel] = delay }
    return result
  }

  /// The tunnels that may have timers.
  package var timed: Set<String> {
    Set(settling.keys).union(waits.keys).union(overrides.keys).union(releases.lazy.filter { $1.releaseAt != nil }.map(\.key))
  }

  /// The tunnels that a change of the network starts at once, before it has settled: they are down, a rule connects them, whatever late
  /// sources may still tell of this network, and no running tunnel gives way to them.
  package func startingAtOnce(on policies: PolicySet, _ snapshot: NetworkSnapshot, isRunning: (String) -> Bool) -> Set<String> {
    let evaluator = Evaluator(networks: policies.networks)
    let prepared = evaluator.prepare(snapshot.beforeLateSources)
    let sieve = policies.sieve
    let connects = policies.tunnels.indices.contains { place in
      sieve.mayConnect(at: place, on: prepared)
        && evaluator.decide(policies.tunnels[place], on: prepared, explaining: .none).outcome == .connect
    }
    if !connects { return [] }
    let decisions = policies.tunnels.map { evaluator.decide($0, on: prepared, explaining: .none) }
    let claims = zip(policies.tunnels, decisions).map { tunnel, decision in
      Exclusion.Claim(tunnel, decision, override: overrides[tunnel.name], isRunning: isRunning(tunnel.name))
    }
    let all = Exclusion.settle(claims, groups: policies.groups, turns: groups.turns)
    let displacing = Set(all.losers.filter { isRunning($0.key) }.values)
    let names = zip(all.claims, decisions).lazy.filter { claim, decision in
      let name = claim.tunnel.name
      return decision.outcome == .connect && claim.intent == .up && claim.override == nil && !claim.isRunning
        && claim.tunnel.through == nil && claim.tunnel.onDemand.timing.settle == nil && all.losers[name] == nil && all.blocked[name] == nil
        && !displacing.contains(name)
    }
    return Set(names.map(\.0.tunnel.name))
  }

  /// Whether the rules want another state of the tunnel once the network has settled, whatever settle time of its own it has.
  package func awaitsSettledNetwork(_ tunnel: String) -> Bool { held.contains(tunnel) && settling[tunnel] != nil }

  /// Whether a tunnel with precedence is down and still settling: until then no tunnel gives way to it.
  private func isSettling(_ tunnel: String, in claims: [Exclusion.Claim], since changed: Moment?, at now: Moment) -> Bool {
    guard let claim = claims.first(where: { $0.tunnel.name == tunnel }), !claim.isRunning, claim.override == nil, let changed,
      let settle = claim.tunnel.onDemand.timing.settle
    else { return false }
    return now < changed + settle
  }

  /// The pending timers of a tunnel. `time` is wall-clock time.
  package func timers(of tunnel: String, at now: Moment, time: Timestamp) -> [TunnelTimer] {
    var timers: [TunnelTimer] = []
    if let until = settling[tunnel] { timers.append(TunnelTimer(.settle, at: until)) }
    if decisions[tunnel]?.outcome == .pending, let until = waits[tunnel] { timers.append(TunnelTimer(.decide, at: until)) }
    if let at = releases[tunnel]?.releaseAt { timers.append(TunnelTimer(.release, at: at)) }
    if let end = overrides[tunnel]?.lifetime.end { timers.append(TunnelTimer(.overrideEnd, at: now + max(.zero, end - time))) }
    return timers
  }

  /// The next moment at which the same facts, seen at `seen`, may give another decision; `nil`: none.
  package func nextDeadline(
    of policies: PolicySet, _ snapshot: NetworkSnapshot, seen: Moment, at now: Moment, time: Timestamp
  ) -> Moment? {
    let overrideEnds = overrides.values.compactMap { override -> Moment? in
      if case .time(let end) = override.lifetime { now + max(.zero, end - time) } else { nil }
    }
    let open = waits.values.filter { now < $0 }
    let disconnects = releases.values.compactMap(\.releaseAt).map { at in settlesAt.map { max(at, $0) } ?? at }
    let choices = groups.nextDeadline.map { [$0] } ?? []
    return (open + settling.values + disconnects + overrideEnds + clockEdges(policies, snapshot, seen) + choices).min()
  }

  // MARK: Manual overrides

  /// Sets a manual override. Returns the tunnels whose override it ends: only one enterprise tunnel can be up by hand.
  @discardableResult
  package mutating func override(_ tunnel: String, _ override: ManualOverride, of policies: PolicySet = PolicySet()) -> [String] {
    overrides[tunnel] = override
    guard override.wantsUp, policies.tunnel(named: tunnel)?.precedence == .enterprise else { return [] }
    let group = policies.group(of: tunnel)?.name
    return end { name, other in
      name != tunnel && other.wantsUp && policies.tunnel(named: name)?.precedence == .enterprise
        && (group == nil || policies.group(of: name)?.name != group)
    }
  }

  /// Ends the override of one tunnel, or of all; returns the tunnels that had one.
  package mutating func resume(_ tunnel: String?) -> [String] { end { name, _ in tunnel == nil || name == tunnel } }

  /// Ends overrides that have expired, or that were for another network; returns their tunnels. The others learn about the network.
  package mutating func endOverrides(at time: Timestamp, on network: NetworkIdentity) -> [String] {
    let ended = end { $1.isOver(at: time, on: network) }
    for name in overrides.keys { overrides[name]?.learn(network) }
    return ended
  }

  /// Forgets all decisions about a tunnel whose policy is gone.
  package mutating func forget(_ tunnel: String) {
    decisions[tunnel] = nil
    held.remove(tunnel)
    settled[tunnel] = nil
    overrides[tunnel] = nil
    waits[tunnel] = nil
    releases[tunnel] = nil
  }

  /// Restarts the waits on another network, or without one. A decision that watches no names is of the last network alone: until the rules
  /// have decided here, names are watched that they may watch.
  package mutating func restartWaits(hasNetwork: Bool) {
    waits = [:]
    groups.networkChanged()
    if hasNetwork { settled = settled.filter { $0.value.outcome == .evaluateConnection } }
  }

  private mutating func end(_ isOver: (String, ManualOverride) -> Bool) -> [String] {
    let ended = overrides.filter(isOver).keys.sorted()
    for name in ended { overrides[name] = nil }
    return ended
  }

  // MARK: Time

  /// Decides for one tunnel. A pending decision waits as long as its policy allows; then an unknown fact counts as the safe choice.
  private mutating func decide(_ tunnel: TunnelPolicy, _ evaluator: Evaluator, _ snapshot: PreparedSnapshot, _ now: Moment) -> Decision {
    let decision = evaluator.decide(tunnel, on: snapshot, explaining: .ofDecidingRule)
    guard decision.outcome == .pending else {
      waits[tunnel.name] = nil
      return decision
    }
    let deadline = waits[tunnel.name] ?? now + tunnel.onDemand.timing.decideWithin
    waits[tunnel.name] = deadline
    return now < deadline ? decision : evaluator.decide(tunnel, on: snapshot, patience: .isOver, explaining: .ofDecidingRule)
  }

  private func clockEdges(_ policies: PolicySet, _ snapshot: NetworkSnapshot, _ seen: Moment) -> [Moment] {
    guard let time = snapshot.time.value else { return [] }
    return policies.timeWindows.map { seen + .seconds($0.secondsToEdge(after: time)) }
  }
}

extension Decision {
  /// Whether a rule made it, or no rule matches: it waits for nothing.
  var isSettled: Bool { outcome != .pending && !isWithoutNetwork }

  fileprivate func isNews(after other: Decision?) -> Bool {
    // Equal findings need no text to compare.
    if self == other { return false }
    return outcome != other?.outcome || rule != other?.rule || ruleReason != other?.ruleReason || inert != other?.inert
      || carries != other?.carries
  }
}
