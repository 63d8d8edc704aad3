internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// The validity of certificates, as a provider has told it, and the stages that people know of.
struct ProviderValidities {
  /// The nearness of an end.
  enum Stage: Equatable {
    case valid, ending, ended
  }

  /// More names than a provider can have certificates.
  private static let most = 16

  private(set) var all: [String: Validity] = [:]
  private var told: [String: Stage] = [:]
  /// When people have to be told, or the wall clock may have been set.
  private(set) var due: Moment?

  mutating func take(_ validity: Validity) {
    if all[validity.name] == nil, all.count >= Self.most { return }
    all[validity.name] = validity
    told[validity.name] = nil
  }

  /// The validities whose stage has changed: people are to be told.
  mutating func advance(to now: Timestamp, _ moment: Moment) -> [Validity] {
    due = next(after: now).map { moment + min(.seconds(86_400), $0 - now) }
    var changed: [Validity] = []
    for (name, validity) in all.sorted(by: { $0.key < $1.key }) {
      let stage = validity.stage(at: now)
      if stage != told[name] ?? .valid { changed.append(validity) }
      told[name] = stage
    }
    return changed
  }

  /// The next moment at which a stage changes.
  private func next(after now: Timestamp) -> Timestamp? { all.values.flatMap { [$0.noticed, $0.ends] }.filter { $0 > now }.min() }

  /// A sentence for each that ends soon, or has ended.
  func texts(at now: Timestamp) -> [String] { all.values.filter { $0.stage(at: now) != .valid }.map { $0.text(at: now) }.sorted() }

  /// The cause of a failure that waiting would mend, as far as this machine knows it: with a certificate that has ended, no peer answers.
  func cause(of failure: ProviderProtocol.TunnelFailure, at now: Timestamp) -> ProviderProtocol.TunnelFailure {
    let ended = all.values.filter { $0.stage(at: now) == .ended }.map { $0.text(at: now) }.sorted()
    guard failure.help == .time, !ended.isEmpty else { return failure }
    return ProviderProtocol.TunnelFailure(code: "certificate-expired", text: ended.joined(separator: "; "), help: .person)
  }
}

extension Validity {
  fileprivate var ends: Timestamp { Timestamp(seconds: end) }

  /// When people are told: 14 days before the end, and in the last tenth of a shorter life.
  fileprivate var noticed: Timestamp {
    let longest = Duration.seconds(14 * 86_400)
    let life = start.map { Duration.seconds(max(0, end - $0)) }
    return ends - (life.map { min(longest, $0 / 10) } ?? longest)
  }

  fileprivate func stage(at now: Timestamp) -> ProviderValidities.Stage {
    now >= ends ? .ended : now >= noticed ? .ending : .valid
  }

  /// `the certificate laptop ends on 2026-12-01 (in 3 days); renew it`
  func text(at now: Timestamp) -> String {
    let day = String(ends.description.prefix(16)).replacing("T", with: " ")
    if now >= ends { return "\(name) has ended on \(day) UTC; renew it" }
    return "\(name) ends on \(day) UTC, in \(RoamwardCore.text(for: .seconds((ends - now).components.seconds))); renew it"
  }
}
