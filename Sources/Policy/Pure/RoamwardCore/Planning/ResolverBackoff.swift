import KernelModel
package import NetworkTypes

/// Limits repairs of the resolver: the first change by another program is reverted at once, further ones after growing delays. So two
/// programs never fight over it. A pure value; `now` is a parameter.
package struct ResolverBackoff: Equatable, Sendable {
  /// The resolver settings that tunnels want, for any DNS backend.
  package struct Settings: Equatable, Sendable {
    var resolvConf: ResolvConf?
    var links: [String: LinkResolver]
    var record: ResolverRecord?
    var nameServer: NameServerSettings?

    package init(_ desired: DesiredState) {
      resolvConf = desired.resolvConf
      links = desired.resolvedLinks
      record = desired.record
      nameServer = desired.nameServer
    }
  }

  /// The time after which a loss is forgotten.
  package static let memory = Duration.seconds(30)
  /// On a new network, the network's manager legitimately rewrites the resolver, once or for each family. This many changes within the time
  /// below do not count as losses.
  package static let pardons = 3
  package static let pardonTime = Duration.seconds(10)
  private static let backoff = Backoff(first: .seconds(2), longest: .seconds(60))
  private static let pauseBetweenLooks = Duration.seconds(10)

  private var settings: Settings?
  /// Whether the wanted settings were observed in place.
  private var isHeld = false
  private var losses: [Moment] = []
  private var pardonsLeft = 0
  private var pardonedUntil: Moment?
  private var failures = 0
  private var lastFailure: String?
  /// When to check again for an obstacle that can disappear without an event.
  private var lookAgainAt: Moment?
  private var lastRival: String?
  /// The earliest time of the next attempt.
  private var notBefore: Moment?

  package init() {}

  /// Records the wanted settings, and whether they are in place now. `rival`: the program that seems to have changed them, if that can be
  /// told.
  package mutating func see(_ settings: Settings, isSatisfied: Bool, rival: String? = nil, at now: Moment) {
    if settings != self.settings {
      let before = self
      self = ResolverBackoff()
      self.settings = settings
      // The same rival fights the next settings too, which may come from another network.
      (losses, pardonsLeft, pardonedUntil) = (before.losses, before.pardonsLeft, before.pardonedUntil)
    }
    losses.removeAll { $0 + Self.memory <= now }
    if isSatisfied {
      isHeld = true
      lookAgainAt = nil
      failures = 0
      lastFailure = nil
      notBefore = nil
    } else if isHeld {
      isHeld = false
      if pardonsLeft > 0, let pardonedUntil, now < pardonedUntil {
        pardonsLeft -= 1
        return
      }
      losses.append(now)
      lastRival = rival
      // The first loss is repaired at once.
      if losses.count > 1 { notBefore = now + Self.backoff.pause(after: losses.count - 1) }
    }
  }

  /// Records that the resolver's manager is unavailable: settings that it loses meanwhile do not count as a loss.
  package mutating func interrupted() { isHeld = false }

  /// Records that no attempt is possible now, and that no event will report when one is.
  package mutating func obstructed(at now: Moment) {
    interrupted()
    if lookAgainAt.map({ $0 <= now }) ?? true { lookAgainAt = now + Self.pauseBetweenLooks }
  }

  /// Records a failed attempt. `isTakingBack`: it would have removed settings that tunnels no longer want.
  package mutating func failed(reason: String, isTakingBack: Bool = false, at now: Moment) {
    failures += 1
    lastFailure =
      (isTakingBack ? "the name servers from before the tunnel are not restored: " : "name servers are not applied: ") + reason
    notBefore = now + Self.backoff.pause(after: failures)
  }

  package mutating func networkChanged(at now: Moment) {
    losses = []
    (pardonsLeft, pardonedUntil) = (Self.pardons, now + Self.pardonTime)
    failures = 0
    notBefore = nil
  }

  package func mayAct(at now: Moment) -> Bool { notBefore.map { $0 <= now } ?? true }

  /// Whether several attempts in a row have failed.
  package var isHopeless: Bool { failures > 2 }

  /// The time of the next attempt, or of the next change of the note.
  package func nextDeadline(after now: Moment) -> Moment? {
    [notBefore, lookAgainAt, isContested ? losses.last.map { $0 + Self.memory } : nil].compactMap { $0 }.filter { now < $0 }.min()
  }

  private var isContested: Bool { losses.count > 1 }

  /// A note for people.
  package var note: String? {
    if let lastFailure { return "\(lastFailure); it is tried again" }
    guard isContested else { return nil }
    let rival = lastRival.map { ", last by \($0)" } ?? ""
    return "the tunnel's name servers have been taken away \(losses.count) times within \(Self.memory.components.seconds) s\(rival);"
      + " they are set again at growing intervals: two programs manage the resolver (cure: stop one of them, or set `dns: none`)"
  }
}
