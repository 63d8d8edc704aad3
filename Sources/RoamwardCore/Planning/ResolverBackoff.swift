import KernelModel
package import NetworkTypes

/// Keeps count of who wins the resolver: what was set is set again at once when somebody changes it, and then less and less eagerly, so
/// that two programs never fight a war over it. A pure value; `now` comes from outside.
package struct ResolverBackoff: Hashable, Sendable {
  /// What tunnels want of the resolver, by whichever way.
  package struct Wish: Hashable, Sendable {
    var resolvConf: ResolvConf?
    var links: [String: LinkResolver]
    var record: ResolverRecord?

    package init(_ desired: DesiredState) {
      resolvConf = desired.resolvConf
      links = desired.resolvedLinks
      record = desired.record
    }
  }

  /// So long after a loss it is forgotten.
  package static let memory = Duration.seconds(30)
  /// On another network whoever keeps the network writes anew, once or for each family, and rightly: so often
  /// within this time that is no loss.
  package static let pardons = 3
  package static let pardonTime = Duration.seconds(10)
  private static let backoff = Backoff(first: .seconds(2), longest: .seconds(60))
  private static let pauseBetweenLooks = Duration.seconds(10)

  private var wish: Wish?
  /// It was seen in its place.
  private var isHeld = false
  private var losses: [Moment] = []
  private var pardonsLeft = 0
  private var pardonedUntil: Moment?
  private var failures = 0
  private var lastFailure: String?
  /// What is in the way may go without a word: it is looked at again then.
  private var lookAgainAt: Moment?
  private var lastRival: String?
  /// Nothing is tried before.
  private var notBefore: Moment?

  package init() {}

  /// What is wanted, and whether it is so now. `rival`: who seems to have changed it, where that can be told.
  package mutating func see(_ wish: Wish, isSatisfied: Bool, rival: String? = nil, at now: Moment) {
    if wish != self.wish {
      let before = self
      self = ResolverBackoff()
      self.wish = wish
      // The same rival fights the next wish, which another network may have brought.
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
      // The first is repaired at once.
      if losses.count > 1 { notBefore = now + Self.backoff.pause(after: losses.count - 1) }
    }
  }

  /// Whoever keeps it is away: what it forgets meanwhile nobody has taken.
  package mutating func interrupted() { isHeld = false }

  /// Nothing can be tried, and nobody tells when that is over.
  package mutating func obstructed(at now: Moment) {
    interrupted()
    if lookAgainAt.map({ $0 <= now }) ?? true { lookAgainAt = now + Self.pauseBetweenLooks }
  }

  /// It was tried, and did not work. `isTakingBack`: not what tunnels want, but what they want no more.
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

  /// It has failed several times in a row.
  package var isHopeless: Bool { failures > 2 }

  /// When it may be tried again, or there is less to tell.
  package func nextDeadline(after now: Moment) -> Moment? {
    [notBefore, lookAgainAt, isContested ? losses.last.map { $0 + Self.memory } : nil].compactMap { $0 }.filter { now < $0 }.min()
  }

  private var isContested: Bool { losses.count > 1 }

  /// What people should know.
  package var note: String? {
    if let lastFailure { return "\(lastFailure); it is tried again" }
    guard isContested else { return nil }
    let rival = lastRival.map { ", last by \($0)" } ?? ""
    return "the tunnel's name servers have been taken away \(losses.count) times within \(Self.memory.components.seconds) s\(rival);"
      + " they are set again at growing intervals: two programs manage the resolver (cure: stop one of them, or set `dns: none`)"
  }
}
