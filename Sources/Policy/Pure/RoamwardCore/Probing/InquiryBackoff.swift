import NetworkTypes

/// The time of a repeated request: after a third of the time since the first one, and so less and less often. No randomness: the machines
/// of one network do not send together, because they did not arrive together.
struct InquiryBackoff {
  static let shortest = Duration.seconds(1)
  static let longest = Duration.seconds(600)
  /// The time after which a new network is fully up.
  static let doubt = Duration.seconds(120)

  private let outlook: InquiryResult.Outlook

  init(_ outlook: InquiryResult.Outlook) { self.outlook = outlook }

  /// The time of the next request; `nil`: not before an event.
  func next(asking since: Moment, at now: Moment) -> Moment? {
    let elapsed = now - since
    switch outlook {
    case .settled: return nil
    case .doubtful where elapsed >= Self.doubt: return nil
    case .doubtful, .passing: return now + min(Self.longest, max(Self.shortest, elapsed / 3))
    }
  }
}
