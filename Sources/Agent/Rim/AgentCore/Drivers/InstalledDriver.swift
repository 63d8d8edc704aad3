internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// Drives a tunnel of an installed provider: does for its program what needs privileges. The protocol is `ProviderSession`.
///
/// The link exists from the first request that needs one. Routes and name servers follow when the provider is ready.
final class InstalledDriver: RoamingDriver, TimedDriver, SamplingDriver, SettingsDriver, CuttableDriver {
  let tunnel: String
  let platform: Platform
  let outlets: DriverOutlets
  let configuration: InstalledProviderConfiguration
  /// The tunnel's policy, by which settings are judged.
  let policy: () -> TunnelPolicy
  let channel: ProviderChannel
  var underlay: LinkFacts?
  /// The questions that no person has answered yet, the oldest first.
  var questions: [OpenQuestion] = [] {
    didSet { if !(oldValue.isEmpty && questions.isEmpty) { tellWhoIsAsked() } }
  }

  /// The number of losses in a row: nothing came back through its link (`ProviderWatch`).
  var losses = 0

  init(
    _ configuration: InstalledProviderConfiguration, tunnel: String, policy: @escaping () -> TunnelPolicy, platform: Platform,
    outlets: DriverOutlets
  ) {
    self.configuration = configuration
    self.tunnel = tunnel
    self.policy = policy
    self.platform = platform
    self.outlets = outlets
    channel = ProviderChannel(configuration, tunnel: tunnel, platform: platform, outlets: outlets)
    channel.take = { [weak self] in self?.carryOut($0) }
    channel.path = { [weak self] in self?.underlay.map(NetworkPath.init) }
  }

  var run: ProviderRun {
    get { channel.life.run }
    set { channel.life.run = newValue }
  }

  var session: ProviderSession? { channel.life.session }

  var engineName: String { session.map(\.program).flatMap { $0.isEmpty ? nil : $0 } ?? configuration.program.name }

  var isTornDown: Bool { session == nil }

  var brought: BroughtSettings { run.brought }
  var refused: [RefusedSetting] { run.refused }

  var link: String { TunnelSetup.linkName(forTunnel: tunnel) }

  func device(whileAwaiting: Bool) -> DesiredLink.Device? {
    run.isPrepared ? DesiredLink.Device(of: configuration.program, link: link) : nil
  }

  // MARK: What the machine wants

  func prepare(on underlay: LinkFacts?) {
    self.underlay = underlay
    channel.prepare()
  }

  func probePeer(on underlay: LinkFacts?) { tell(underlay) }

  /// The provider is told of the new network, and says itself if it carries nothing there.
  func reassert(on underlay: LinkFacts?) { askWhetherConnected(on: underlay) }

  /// After a sleep.
  func renewSessions(on underlay: LinkFacts?) {
    if run.begun?.isTakenOver != true { channel.perform { $0.wake() } }
    askWhetherConnected(on: underlay)
  }

  private func askWhetherConnected(on underlay: LinkFacts?) {
    run.begun?.isTakenOver = false
    tell(underlay)
    if !questions.isEmpty { tellWhoIsAsked() }
    if session?.state == .connected { outlets.report(.peerAnswered) }
  }

  /// A person has time for an answer, whatever the tunnel waits for.
  private func tellWhoIsAsked() { outlets.report(.asks(until: questions.map(\.until).max())) }

  func learn(_ underlay: LinkFacts?) { tell(underlay) }

  /// Tells the provider of another network below it.
  private func tell(_ underlay: LinkFacts?) {
    self.underlay = underlay
    guard let session, session.isRunning, session.state != .stopping else { return }
    let new = underlay.map(NetworkPath.init)
    guard let begun = run.begun, new != begun.path else { return }
    run.begun?.path = new
    if new != nil { expectReaction() }
    attempt { (session) throws(ProviderSession.Unsendable) in try session.networkChanged(new) }
  }

  func tearDown() { channel.tearDown() }

  func cutShort() { platform.installed.cut(tunnel) }

  /// Sends an application's message; starts the program for it if none runs.
  func message(_ content: MessageContent, then reply: @escaping (MessageReply) -> Void) { channel.message(content, then: reply) }

  // MARK: Time

  var now: Moment { platform.clock.now() }

  var nextDeadline: Moment? {
    ([channel.nextDeadline, run.begun?.watch.reactionDue, run.begun?.validities.due].compactMap(\.self) + questions.map(\.until)).min()
  }

  /// Tells people of certificates that end, or have ended.
  func tellValidities() {
    let clock = platform.clock.wallClock()
    guard let changed = run.begun?.validities.advance(to: clock, now), !changed.isEmpty else { return }
    for validity in changed { outlets.publish(.log(level: "warning", origin: "agent", text: validity.text(at: clock))) }
    outlets.changed()
  }

  func advance() {
    channel.expireMessages()
    judgeReaction()
    tellValidities()
    for question in questions where question.until <= now { answer(question.number, .expired) }
    channel.advance()
  }

  // MARK: Answers

  func attempt(_ body: (inout ProviderSession) throws(ProviderSession.Unsendable) -> [ProviderSession.Action]) { channel.attempt(body) }

  func refuse(_ id: UInt32, _ code: Word, _ text: String) { channel.refuse(id, code, text) }

  /// Reports to the tunnel's machine what has come from outside the agent.
  func report(_ event: TunnelMachine.Event) {
    outlets.report(event)
    outlets.changed()
  }
}
