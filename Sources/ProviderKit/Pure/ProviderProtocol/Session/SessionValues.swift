public import JSON
public import NetworkTypes

extension ProviderSession {
  /// The state of a channel, as the agent sees it.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// The provider's process was started; its first message has not come.
    case greeting
    /// The provider waits. Nothing runs.
    case idle
    /// `start` was sent; the tunnel does not carry packets yet.
    case starting
    /// The tunnel carries packets.
    case connected
    /// The tunnel was connected, and carries no packets for now.
    case reasserting
    /// `stop` was sent.
    case stopping
    /// The channel is at its end. Nothing follows.
    case closed
  }

  /// The time limits of the agent's waits. All are positive.
  public struct Limits: Hashable, Sendable {
    /// From the start of the process to its `hello`.
    public var hello: Duration
    /// From `start` to `ready`. The time in which a person is asked does not count.
    public var start: Duration
    /// From `stop` to `stopped`.
    public var stop: Duration
    /// From `sleep` to `asleep`. The machine sleeps then, with or without an answer.
    public var sleep: Duration

    public init(
      hello: Duration = .seconds(10), start: Duration = .seconds(60), stop: Duration = .seconds(20), sleep: Duration = .seconds(4)
    ) {
      self.hello = hello
      self.start = start
      self.stop = stop
      self.sleep = sleep
    }
  }

  /// The end of a run of the tunnel. Each `start` that was accepted ends exactly once.
  public enum RunEnd: Hashable, Sendable {
    /// The provider stopped it as asked. `inTime`: it did so itself; otherwise the channel was closed.
    case stopped(inTime: Bool)
    /// It failed.
    case failed(TunnelFailure)
  }

  /// An attachment of the agent to a message: a descriptor that it has under this name.
  public enum Attachment: Hashable, Sendable {
    /// The credential of the start, as a readable descriptor.
    case credential(Word)
    /// The secret that answers the provider's question.
    case secret(id: UInt32)
    /// The device or socket that answers the provider's request.
    case granted(id: UInt32)
  }

  /// An action for the agent to perform. Actions are in their order.
  public enum Action: Hashable, Sendable {
    /// Send these bytes, with the descriptor.
    case send([UInt8], attaching: Attachment?)
    /// The state is another one.
    case stateChanged(State)
    /// Put these settings into effect where the policy allows it; answer by `settingsApplied` or `refuse`.
    case apply(id: UInt32, TunnelSettings)
    /// Answer by `deviceOpened` or `refuse`.
    case openDevice(id: UInt32)
    /// Answer by `xfrmOpened` or `refuse`.
    case openXFRM(id: UInt32)
    /// Connect a marked socket outside of the tunnel; answer by `socketOpened` or `refuse`.
    case openSocket(id: UInt32, Transport, Endpoint)
    /// Look up a name outside of the tunnel; answer by `resolved` or `refuse`.
    case resolve(id: UInt32, DomainName)
    /// Ask a person; answer by `answer`.
    case ask(id: UInt32, Question)
    /// The provider does not want the answer any more, or the run is over. It needs none.
    case withdraw(id: UInt32)
    /// The tunnel is reasserting: why.
    case reasserting(code: Word, text: String)
    /// The answer to `message`.
    case replied(id: UInt32, MessageReply)
    /// The machine may sleep. `inTime`: the provider said so.
    case asleep(inTime: Bool)
    /// An event of the provider.
    case event(name: Word, JSON)
    /// Keep these bytes for the tunnel's later starts, in place of those before; none: forget those.
    case keep([UInt8])
    /// The present transport of the tunnel's packets, for people; empty: the provider says nothing.
    case transport(String)
    /// From when to when something of the person's is valid.
    case validity(Validity)
    /// A line of the provider's log.
    case log(LogLine)
    /// That many events and lines were dropped, because they came too fast.
    case dropped(Int)
    /// The run is over.
    case runEnded(RunEnd)
    /// The provider has ended, or is given up, before it said `hello`: no run can begin. `close` follows.
    case neverGreeted(TunnelFailure)
    /// The provider broke the protocol. `close` follows.
    case violated(ProtocolViolation)
    /// Close the channel, end the processes of the provider's group, and forget this value.
    case close
  }

  /// The reason why the agent cannot send now.
  public enum Unsendable: Error, Hashable, Sendable {
    /// Not in this state.
    case state(State)
    /// The value has no message.
    case malformed(MessageError)
    /// Too many requests are unanswered, or too many credentials.
    case tooMany
    /// The provider made no such request, or the answer is of another kind.
    case noSuchRequest(UInt32)
  }
}

/// Lets events and lines through: 200 at once, 50 a second on average, and a number in an hour. A provider that exceeds it by far ends.
struct EventBudget: Hashable, Sendable {
  private static let burst = 200
  private static let interval = Duration.milliseconds(20)
  private static let hour = Duration.seconds(3600)

  private var tokens = Self.burst
  private var since: Moment
  /// Dropped since the last one that passed.
  private var dropped = 0
  /// The number in the hour since `counted`, dropped ones included.
  private var inHour = 0
  private var counted: Moment

  init(at now: Moment) {
    since = now
    counted = now
  }

  /// Whether one may pass, and the number that were dropped before it. Throws if there were too many in an hour.
  mutating func take(at now: Moment) throws(ProtocolViolation) -> (passes: Bool, dropped: Int) {
    if counted + Self.hour <= now { (inHour, counted) = (0, now) }
    inHour += 1
    guard inHour <= ProtocolLimits.eventsInHour else { throw .tooManyEvents }
    while tokens < Self.burst, since + Self.interval <= now {
      tokens += 1
      since = since + Self.interval
    }
    if tokens == Self.burst { since = now }
    guard tokens > 0 else {
      dropped += 1
      return (false, 0)
    }
    tokens -= 1
    defer { dropped = 0 }
    return (true, dropped)
  }
}
