import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore

/// The handling of what our name server reports about answers.
struct AnswerHandling {
  let reconciler: Reconciler

  /// Addresses of one answer that get routes.
  private static let most = 64

  /// Handles each report from now on.
  static func begin(_ reconciler: Reconciler) {
    reconciler.platform.machine.watchAnswers { [weak reconciler] news in
      guard let reconciler else { return }
      let handling = AnswerHandling(reconciler: reconciler)
      switch news {
      case .withheld(let answers): handling.take(answers)
      case .answered(let answer, let done): handling.take(answer, then: done)
      case .shared(let shared): handling.take(shared)
      }
    }
  }

  /// The first ones of a tunnel are logged, without the name.
  private func take(_ answers: WithheldAnswers) {
    let state = reconciler.state
    let holder = state.tunnels.ordered.first {
      $0.machine.level.hasRoutes && $0.policyInForce.namedPrefixes.contains { $0.contains(answers.address) }
    }
    guard let tunnel = holder?.policy.name else { return }
    if reconciler.change({ $0.names.withhold(answers, of: tunnel, at: reconciler.wallClock) }) {
      reconciler.announcer.warn(
        Remark(
          .answerWithheld, of: tunnel,
          "answers of the network's name servers with addresses inside it are withheld (DNS rebinding); `roamward status` shows the name"))
    }
  }

  /// Routes the addresses of an answer before the program has it. Only new ones need steps.
  private func take(_ answer: RoutedAnswer, then done: @escaping (Bool) -> Void) {
    let state = reconciler.state
    let setups = state.desiredTunnels.setups
    // A name that no policy can have is in none of its domains; the name server does not ask for such.
    guard let name = DomainName(answer.name) else { return done(false) }
    if setups.contains(where: { $0.blocksNames && $0.policy.routes?.way(of: name) == .include }) { return done(false) }
    guard answer.addresses.count <= Self.most else { return done(false) }
    let underlay = state.underlayFit
    var (isNew, isRefused) = (false, false)
    var news: [Event.Kind] = []
    for setup in setups where setup.routesNames {
      guard let way = setup.policy.routes?.way(of: name) else { continue }
      let tunnel = setup.policy.name
      var routed: [IPAddress] = []
      for address in answer.addresses {
        if let reason = setup.refusal(of: address, way, on: underlay, besides: setups) {
          reconciler.change { $0.names.leaveUnrouted(address, of: name, in: tunnel, reason: reason) }
          // The kill switch does not know the address, and the network chose it: the packet would leave.
          isRefused = isRefused || way == .include && setup.isGuarding && underlay.reaches(address)
          continue
        }
        let now = reconciler.now
        let result = reconciler.change { $0.names.routes.take(address, of: name, way, in: tunnel, for: answer.lifetime, at: now) }
        // If one makes room for another, each look-up would be an event.
        if result == .new { routed.append(address) }
        isNew = isNew || result != .known
        if result == .full {
          isRefused = true
          reconciler.change {
            $0.names.leaveUnrouted(address, of: name, in: tunnel, reason: "its names have \(RoutesByName.limit) addresses already")
          }
        }
        if result == .newInsteadOfOther { warnOfEviction(in: tunnel) }
      }
      if !routed.isEmpty { news.append(.nameRoute(tunnel: tunnel, name: name, way, routed)) }
    }
    if isRefused { return done(false) }
    for event in news { reconciler.announcer.publish(event) }
    guard isNew || state.names.isWaiting else { return done(true) }
    reconciler.change { [now = reconciler.now] in $0.names.await(at: now, done) }
    // During a pass, the round that follows makes the routes.
    reconciler.isPassing ? reconciler.pass() : reconciler.reconverge(within: \.isOfWay, afterLook: {})
  }

  private func warnOfEviction(in tunnel: String) {
    reconciler.announcer.warn(
      Remark(
        .routesLimited, of: tunnel,
        "its names have more than \(RoutesByName.limit) addresses in use; packets to excluded ones that were asked for long ago go inside"
      ))
  }

  /// The first one of a tunnel is logged, without the names.
  private func take(_ shared: SharedAddress) {
    let known = reconciler.state.names.routes
    for tunnel in reconciler.change({ $0.names.routes.share(shared.address, with: shared.other) })
    where known.entries[tunnel]?.values.contains(where: { $0.other != nil }) != true {
      reconciler.announcer.warn(
        Remark(
          .addressShared, of: tunnel,
          "an address of its names belongs to another name too, whose packets take the same way; `roamward status` shows both"))
    }
  }

  /// Ends routes whose time has come.
  func expire() {
    let now = reconciler.now
    let connected = reconciler.platform.machine.connectedAddresses
    reconciler.change { state in
      let kept = Set(state.desiredTunnels.setups.filter { $0.isGuarding && !$0.level.hasRoutes }.map(\.policy.name))
      state.names.routes.expire(at: now, keeps: kept.contains, connected: connected)
    }
  }
}
