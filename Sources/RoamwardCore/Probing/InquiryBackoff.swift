import NetworkTypes

/// When a question is put again: after a third of the time that has passed since it was first put, and so ever less often. No chance in it:
/// the machines of one network do not ask together, because they did not arrive together.
struct InquiryBackoff {
  static let shortest = Duration.seconds(1)
  static let longest = Duration.seconds(600)
  /// A network that is only just coming up has come up by then.
  static let doubt = Duration.seconds(120)

  private let outlook: InquiryResult.Outlook

  init(_ outlook: InquiryResult.Outlook) { self.outlook = outlook }

  /// `nil`: not before something happens.
  func next(asking since: Moment, at now: Moment) -> Moment? {
    let elapsed = now - since
    switch outlook {
    case .settled: return nil
    case .doubtful where elapsed >= Self.doubt: return nil
    case .doubtful, .passing: return now + min(Self.longest, max(Self.shortest, elapsed / 3))
    }
  }
}
