package import ControlProtocol
internal import KernelModel
internal import NetworkTypes
package import RoamwardCore

/// Programs whose packets have a route of their own: `roamward run`.
package struct ProgramLaunch {
  /// The most control groups at a time: each has a descriptor of the agent.
  private static let limit = 256
  /// The most of one user: others can start programs too.
  private static let limitOfUser = 64

  private let reconciler: Reconciler
  private let platform: Platform

  package init(_ agent: Agent) { (reconciler, platform) = (agent.reconciler, agent.platform) }

  private var state: AgentState { reconciler.state }

  package var policies: PolicySet { state.set }

  /// Whether a policy or a guard has a kill switch, which a program outside would pass.
  package var hasKillSwitch: Bool { state.hasKillSwitch }

  /// Gives the process a route for its packets. Before the reply, rules and firewall are in force, and it is in its control group. It has
  /// no internet socket yet. `startTime`: the time at which the caller's process started, in clock ticks since the boot.
  package func begin(_ request: RunRequest, process: Int32, startTime: UInt64?, user: UInt32) throws(RequestError) -> RunReply {
    let request = try resolved(request)
    try check(request)
    guard process > 0, let startTime, request.namespace == platform.programs.namespace else {
      throw refusal(
        "the program would run in another network or process namespace than the agent, where it has no tunnel;"
          + " start it in the agent's namespaces")
    }
    reconciler.observe()
    let route = try route(of: request)
    guard let path = platform.programs.path(process, route) else {
      throw refusal("the process is in no version 2 control group (/proc/\(process)/cgroup), so its sockets cannot be marked")
    }
    let program = try group(at: path, route, user)
    if let problem = problem(with: route) {
      if !isInUse(program) { discard(program) }
      throw refusal("the program does not start, because its packets could leave by another route: \(problem)")
    }
    do throws(PlatformError) {
      try platform.programs.admit(process, startTime, program)
    } catch {
      if !isInUse(program) { discard(program) }
      throw refusal("the program cannot enter its control group: \(error)")
    }
    watch(program)
    return RunReply(group: path, link: request.tunnel.flatMap { state.tunnels[$0]?.linkName })
  }

  private func refusal(_ message: String) -> RequestError { RequestError(code: .failed, message: message) }

  private func check(_ request: RunRequest) throws(RequestError) {
    guard state.policies.isLoaded, !state.stop.isRecovering else {
      throw RequestError(code: .starting, message: "the agent is starting and removes leftover state; try again in a moment")
    }
    if state.stop.isStopping { throw refusal("the agent is stopping") }
    guard let name = request.tunnel else { return }
    let chosen = try state.policies.startable(name, wantsUp: true, hasOptions: false)
    guard chosen.count == 1, state.set.tunnel(named: name) != nil else {
      throw RequestError(
        code: .badRequest, message: "\(name) is a group; name the tunnel: \(chosen.map(\.name).joined(separator: ", "))")
    }
  }

  /// The route that the request means, if it can be taken now.
  private func route(of request: RunRequest) throws(RequestError) -> ProgramRoute {
    let isStrict = state.seen.state?.isReversePathStrict ?? false
    let cure =
      "this kernel checks return paths strictly (rp_filter is 1) and would drop the answers; cure: sysctl net.ipv4.conf.all.rp_filter=2"
    guard let name = request.tunnel else {
      let takesAll = state.desiredTunnels.setups.contains { $0.level.hasRoutes && $0.policy.takesEverything }
      if isStrict, takesAll { throw refusal(cure) }
      return .outside
    }
    guard let tunnel = state.tunnels[name], tunnel.linkName != nil else {
      throw refusal("the policy of \(name) names no link of its provider, so no packets can be led into it; add `interface:` to it")
    }
    guard tunnel.machine.level.hasRoutes else {
      throw refusal("\(name) is not connected; connect it first, or have `roamward run --up` do it")
    }
    if isStrict, !tunnel.policyInForce.takesEverything { throw refusal(cure) }
    return .through(name, number: state.killSwitch.machine.routed.number(of: name))
  }

  /// The group at this path: one that is there, or a new one that is noted and in force.
  private func group(at path: String, _ route: ProgramRoute, _ user: UInt32) throws(RequestError) -> ProgramGroup {
    var program = ProgramGroup(path: path, group: ProviderGroup(number: 0, level: 0), route: route, user: user)
    let before = state.killSwitch.machine.launched
    if !before.contains(where: { $0.path == path }) {
      let own = user == 0 ? 0 : before.count { $0.isMade && $0.user == user }
      guard before.count < Self.limit, own < Self.limitOfUser else {
        let whose = own < Self.limitOfUser ? "\(Self.limit) control groups" : "\(own) control groups of yours"
        throw refusal("\(whose) have programs with a route of their own; end some of them (`roamward status` lists them)")
      }
    }
    // On disk first: a crash between the two leaves a note of nothing.
    if !before.contains(where: { $0.path == path }) { platform.programs.save(before + [program]) }
    do throws(PlatformError) {
      program = try platform.programs.make(program)
    } catch {
      platform.programs.save(before)
      throw refusal("the program does not start, because the sockets of its control group cannot be marked: \(error)")
    }
    // Another group under that path is gone: its programs have ended.
    for gone in before where gone.path == path && gone.group != program.group { platform.programs.remove(gone) }
    if before.contains(where: { $0.group == program.group && $0.route == route }) {
      // Another program may have removed what leads its packets.
      reconciler.lookAgain()
      return program
    }
    reconciler.change { state in
      state.killSwitch.machine.launched.removeAll { $0.path == path && $0.group != program.group }
      if !state.killSwitch.machine.launched.contains(where: { $0.group == program.group }) {
        state.killSwitch.machine.launched.append(program)
      }
    }
    platform.programs.save(state.killSwitch.machine.launched)
    reconciler.lookAgain()
    return program
  }

  /// The reason why packets on this route would not be kept on it; `nil`: they are.
  private func problem(with route: ProgramRoute) -> String? {
    guard case .through(let tunnel, let number) = route else { return nil }
    if let reason = state.reasonWithoutFirewall { return reason }
    let mark = Ownership.programMark(number)
    let isLed = state.seen.state?.kernel.ownRules.contains { $0.mark == mark && $0.mask == .max } ?? false
    return isLed ? nil : "no rule leads them into \(tunnel)"
  }

  // MARK: Programs that policies name

  /// The refusal for a program that no policy names.
  package static func refusalOfUnnamed(_ path: String) -> RequestError {
    RequestError(code: .badRequest, message: "no policy names \(escaped(path)) in `apps`; name its route: --through TUNNEL, or --outside")
  }

  /// The request with the route that the policies give the program's file.
  package func resolved(_ request: RunRequest) throws(RequestError) -> RunRequest {
    guard let path = request.path else { return request }
    guard let route = state.set.route(of: .program(path)) else { throw Self.refusalOfUnnamed(path) }
    return RunRequest(program: request.program, tunnel: route, namespace: request.namespace)
  }

  /// Keeps the control groups of tunnels' programs ready, or removes them, and marks those that policies name.
  func keepGroups() {
    platform.commands.keepGroup(state.set.tunnels.contains { $0.isEnabled && !$0.provider.isWireGuard })
    follow()
  }

  /// The programs, for `status`.
  var reports: [ProgramReport] {
    state.killSwitch.machine.launched.map { program in
      let tunnel = program.route.tunnel.flatMap { state.tunnels[$0] }
      return ProgramReport(
        program, link: tunnel.flatMap { $0.machine.level.hasRoutes ? $0.linkName : nil },
        usage: platform.programs.usage(program).map { .init($0) })
    }
  }

  /// Marks the sockets of the control groups that policies name.
  private func follow() {
    guard state.policies.isLoaded, !state.stop.isStopping else { return }
    let launched = state.killSwitch.machine.launched
    let named = state.set.programGroups(beside: state.killSwitch.machine.routed)
    for group in launched where !group.isMade && !named.contains(where: { $0.path == group.path && $0.route == group.route }) {
      platform.programs.release(group)
    }
    platform.programs.follow(named) { [reconciler, platform] present, early, failures in
      ProgramLaunch(reconciler, platform).take(present, early, failures)
    }
  }

  /// Takes over the groups that policies name and that exist. `early`: the paths of those in which a program ran before; `failures`: why
  /// sockets are not marked in others.
  private func take(_ present: [ProgramGroup], _ early: [String], _ failures: [ProgramGroup: String]) {
    let before = state.killSwitch.machine.launched
    remark(on: failures)
    for program in present where early.contains(program.path) && !before.contains(program) {
      let remark = Remark(
        .programRoute, of: program.route.tunnel,
        "programs in \(program.path) run already: sockets that they have open keep their route; restart them to give them all the new one")
      reconciler.change { $0.killSwitch.earlyPrograms[program.group.number] = remark }
      reconciler.announcer.warn(remark)
    }
    let now = before.filter(\.isMade) + present
    guard now != before, !state.stop.isStopping else { return }
    reconciler.change { [now = reconciler.now, launched = now] state in
      state.killSwitch.machine.end(before.filter { !launched.contains($0) }.map(\.route), until: now + EndedPrograms.time)
      state.killSwitch.machine.launched = launched
      state.killSwitch.earlyPrograms = state.killSwitch.earlyPrograms.filter { early in launched.contains { $0.group.number == early.key } }
    }
    platform.programs.save(now)
    reconciler.lookAgain()
  }

  /// Remarks on groups whose sockets cannot be marked.
  private func remark(on failures: [ProgramGroup: String]) {
    let remarks = failures.map { program, reason in
      Remark(
        .programRoute, of: program.route.tunnel,
        "the sockets of programs in \(program.path) cannot be marked, so their packets go where those of all programs go: \(reason)")
    }
    .sorted { $0.text < $1.text }
    if remarks == state.killSwitch.unmarkedPrograms { return }
    for remark in remarks where !state.killSwitch.unmarkedPrograms.contains(remark) { reconciler.announcer.warn(remark) }
    reconciler.change { $0.killSwitch.unmarkedPrograms = remarks }
  }

  // MARK: The end

  /// Goes on with the programs that an earlier agent has left.
  func resume() {
    let found = platform.programs.found()
    reconciler.change { $0.killSwitch.machine.launched = found }
    for program in found where program.isMade { watch(program) }
  }

  /// Lets every program go on without a route of its own. A clean-up, and an agent that another one replaces, leave them where they are.
  func release() {
    if state.stop.isCleaningUp { return }
    for program in state.killSwitch.machine.launched { platform.programs.release(program) }
    reconciler.change { [now = reconciler.now] state in
      state.killSwitch.machine.launched = []
      state.killSwitch.machine.forgetEnded(at: now, all: true)
    }
    platform.programs.save([])
  }

  private func isInUse(_ program: ProgramGroup) -> Bool { platform.programs.usage(program) != nil }

  private func watch(_ program: ProgramGroup) {
    platform.programs.watch(program) { [reconciler, platform] in
      ProgramLaunch(reconciler, platform).discard(program)
    }
  }

  private init(_ reconciler: Reconciler, _ platform: Platform) { (self.reconciler, self.platform) = (reconciler, platform) }

  /// Removes an empty group; what led its packets stays for the last ones.
  private func discard(_ program: ProgramGroup) {
    if let process = platform.programs.left(program) {
      reconciler.announcer.warn(
        Remark(
          .programRoute, of: program.route.tunnel,
          "process \(process) has left its control group, so its new sockets go where those of all programs go: snaps, Flatpaks and some"
            + " browsers make a group of their own"))
    }
    platform.programs.remove(program)
    reconciler.change { [now = reconciler.now] state in
      state.killSwitch.machine.launched.removeAll { $0.group == program.group }
      state.killSwitch.machine.end([program.route], until: now + EndedPrograms.time)
    }
    platform.programs.save(state.killSwitch.machine.launched)
    reconciler.lookAgain()
  }
}
