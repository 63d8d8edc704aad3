internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// A run of a provider, from the wish for it to its end.
struct ProviderRun {
  enum Phase {
    /// None is wanted.
    case over
    /// One is wanted, and waits for the program.
    case due
    /// The program was asked for it. While it stops, it is this one still.
    case begun(Begun)
  }

  /// The link of a run.
  enum Link {
    case unwanted
    /// A request of the provider needs it.
    case wanted
    /// It was made in this run. Another program may have removed it since.
    case made
  }

  struct Begun {
    /// The network that the provider knows.
    var path: NetworkPath?
    var pending = PendingRequests()
    var link = Link.unwanted
    /// The last settings that the provider asked for.
    var wanted: TunnelSettings?
    /// Whether it was taken over, and has not been asked since: it has slept as little as it has moved.
    var isTakenOver = false
    /// The transport of its packets, in the provider's words.
    var transport: String?
    var validities = ProviderValidities()
    var watch = ProviderWatch()
  }

  private var phase: Phase
  /// The last settings, as the policy allows them. They are in force until the next run is wanted.
  var brought = BroughtSettings()
  var refused: [RefusedSetting] = []

  init() { phase = .over }

  /// A run that is wanted after this one. The prefixes that this one included stay known.
  func next() -> ProviderRun {
    var next = ProviderRun()
    next.phase = .due
    next.brought.lastIncluded = brought.lastIncluded
    return next
  }

  var isDue: Bool { if case .due = phase { true } else { false } }

  /// `nil`: it has not begun, or is over.
  var begun: Begun? {
    get { if case .begun(let begun) = phase { begun } else { nil } }
    set { if case .begun = phase, let newValue { phase = .begun(newValue) } }
  }

  /// Whether the link is wanted.
  var isPrepared: Bool { begun.map { $0.link != .unwanted } ?? false }

  var validities: ProviderValidities { begun?.validities ?? ProviderValidities() }
  var transport: String? { begun?.transport }

  mutating func begin(_ begun: Begun) { phase = .begun(begun) }

  mutating func end() { phase = .over }

  /// It is to stop: nothing that it asked for is done any more.
  mutating func tearDown() {
    if isDue { return end() }
    begun?.link = .unwanted
    begun?.pending = PendingRequests()
  }
}
