internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// The agent's own observation of a connected provider that says nothing: whether packets come back through its link, and whether it has
/// connected again on another network. A provider that opens sockets itself is not judged.
struct ProviderWatch {
  static let interval = Duration.seconds(5)
  /// From the first unanswered packet to the doubt. Like `loss` it doubles with each loss in a row: traffic in one direction alone may be
  /// meant.
  private static let patience = Duration.seconds(20)
  /// The same to the loss.
  private static let loss = Duration.seconds(50)
  /// Packets in so many samples: what the kernel sends of its own accord is no traffic.
  private static let leastSamples = 4
  /// Traffic that pauses for longer is other traffic.
  private static let pause = Duration.seconds(15)
  /// From another network until a provider has opened a socket there, or has said that it carries nothing.
  static let reaction = Duration.seconds(5)

  enum Verdict: Equatable {
    case silent(for: Duration)
    case lost(after: Duration)
    case answered
  }

  /// The own address of the last socket that the agent has connected for it.
  var ownAddress: IPAddress?
  /// When it has to have reacted to another network.
  var reactionDue: Moment?
  private(set) var nextSample: Moment?
  private var last: (at: Moment, received: UInt64, sent: UInt64)?
  private var unanswered: (since: Moment, until: Moment, samples: Int)?
  private var isDoubtful = false

  /// The agent has connected a socket for it, from this address.
  mutating func connected(from own: IPAddress?) { (ownAddress, reactionDue) = (own, nil) }

  mutating func begin(at now: Moment) {
    (nextSample, last, unanswered, isDoubtful) = (now + Self.interval, nil, nil, false)
  }

  /// Its link shows no packets now: the next look is later.
  mutating func skip(at now: Moment) { nextSample = now + Self.interval }

  /// Takes the packets that its link has carried, as the kernel counts them. `losses`: how often it was lost in a row.
  mutating func take(received: UInt64, sent: UInt64, losses: Int, at now: Moment) -> Verdict? {
    nextSample = now + Self.interval
    defer { last = (now, received, sent) }
    guard let last else { return nil }
    if received != last.received {
      unanswered = nil
      defer { isDoubtful = false }
      return isDoubtful ? .answered : nil
    }
    if sent != last.sent {
      unanswered = (unanswered?.since ?? last.at, now, (unanswered?.samples ?? 0) + 1)
    } else if let old = unanswered, now - old.until > Self.pause {
      unanswered = nil
    }
    guard let unanswered, unanswered.samples >= Self.leastSamples else { return nil }
    let time = now - unanswered.since
    let factor = 1 << min(losses, 6)
    if time >= Self.loss * factor { return .lost(after: time) }
    guard time >= Self.patience * factor, !isDoubtful else { return nil }
    isDoubtful = true
    return .silent(for: time)
  }
}

extension InstalledDriver {
  /// Whether the agent opens its sockets.
  private var isJudged: Bool {
    let needs = configuration.program.needs
    return !needs.isDisjoint(with: [.udp, .tcp]) && !needs.contains(.sockets)
  }

  var nextSample: Moment? { session?.state == .connected ? run.begun?.watch.nextSample : nil }

  /// Looks whether anything came back through its link.
  func sample() -> TunnelMachine.Event? {
    guard let counts = platform.machine.countPackets(link) else {
      run.begun?.watch.skip(at: now)
      return nil
    }
    switch run.begun?.watch.take(received: counts.received, sent: counts.sent, losses: losses, at: now) {
    case nil: return nil
    case .answered:
      losses = 0
      return .peerAnswered
    case .silent(let time):
      return .reasserting("nothing has come back through \(link) for \(text(for: time)), and its provider says nothing")
    case .lost(let time):
      losses += 1
      return .failed(
        TunnelFailure(.providerFailed, "nothing has come back through \(link) for \(text(for: time)), and its provider says nothing"))
    }
  }

  /// It is connected from now on.
  func beginWatch() { if isJudged { run.begun?.watch.begin(at: now) } }

  /// It knows of another network. The socket that it has may be one of the network before.
  func expectReaction() {
    run.begun?.watch.reactionDue = isJudged && run.begun?.watch.ownAddress != nil ? now + ProviderWatch.reaction : nil
  }

  /// Judges a provider that has not reacted to another network.
  func judgeReaction() {
    guard let due = run.begun?.watch.reactionDue, due <= now else { return }
    run.begun?.watch.reactionDue = nil
    guard session?.state == .connected, let own = run.begun?.watch.ownAddress, !outlets.ownAddresses().contains(own) else { return }
    report(
      .failed(
        TunnelFailure(
          .providerFailed,
          "its connection is from \(own), which this machine no longer has, and its provider opened no other here (stale-socket)")))
  }
}
