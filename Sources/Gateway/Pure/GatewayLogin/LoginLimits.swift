internal import GatewayCore
package import NetworkTypes

/// The failed logins by name and by address, and the pauses that follow. A name counts as it was given: names without a user are limited
/// in the same way as others.
///
/// An attempt counts as a failure from its beginning, so that attempts at the same time are no way around.
package struct LoginLimits: Sendable {
  /// A key of the limits: each one has failures and a pause of its own.
  private enum Subject: Hashable {
    /// A name from one place.
    case nameAt(String, IPPrefix)
    /// A name from anywhere: short pauses, or a stranger could keep its person out.
    case name(String)
    /// Any name from one place.
    case place(IPPrefix)
    /// The codes of a user, from anywhere, whatever the first factor was: who gets so far has proven one, and guesses (RFC 4226, 7.3).
    case code(Int64)

    /// The failures without a pause, and the longest pause in seconds.
    var allowance: (free: Int, longest: Int64) {
      switch self {
      case .nameAt: (5, 900)
      case .name: (50, 30)
      case .place: (20, 300)
      case .code: (5, 300)
      }
    }
  }

  private struct Entry {
    var failures: Int
    var end: Moment
    var last: Moment
  }

  /// The most subjects that are remembered. The one with the fewest failures is forgotten first, of those the oldest.
  package static let capacity = 4096
  /// A subject without a new failure for so long is forgotten.
  package static let memory = Duration.seconds(3600)

  /// A place where a name has logged in is not paused with the name for so long: a stranger cannot keep its person out there.
  package static let lately = Duration.seconds(30 * 86_400)

  private var entries: [Subject: Entry] = [:]
  /// The last whole login of a name from a place.
  private var logins: [Subject: Moment] = [:]

  package init() {}

  package var count: Int { entries.count }

  /// The subjects for which an attempt counts. At a place where the name has logged in lately, it counts for the two together: strangers'
  /// attempts pause neither the name nor the place for its person.
  private func subjects(_ name: String?, _ user: Int64?, _ address: IPAddress, at now: Moment? = nil) -> [Subject] {
    let place = address.place
    let codes = user.map { [Subject.code($0)] } ?? []
    guard let name = name?.lowercased() else { return [.place(place)] + codes }
    let own = Subject.nameAt(name, place)
    if let login = logins[own], now.map({ $0 - login < Self.lately }) ?? true { return [own] + codes }
    return [own, .name(name), .place(place)] + codes
  }

  /// Begins an attempt. Returns the seconds to wait if there is a pause; the attempt is none then. `name`: `nil` for a token. `user`: whose
  /// code it is.
  package mutating func begin(_ name: String?, codeOf user: Int64? = nil, from address: IPAddress, at now: Moment) -> UInt16? {
    let subjects = subjects(name, user, address, at: now)
    let end = subjects.compactMap { entries[$0]?.end }.max() ?? now
    if end > now { return UInt16(clamping: (end - now).components.seconds + 1) }
    for subject in subjects { count(subject, at: now) }
    return nil
  }

  private mutating func count(_ subject: Subject, at now: Moment) {
    var entry = entries[subject] ?? Entry(failures: 0, end: now, last: now)
    if now - entry.last > Self.memory { entry.failures = 0 }
    entry.failures += 1
    entry.last = now
    let (free, longest) = subject.allowance
    if entry.failures >= free { entry.end = now + .seconds(min(longest, Int64(1) << min(20, entry.failures - free))) }
    if entries[subject] == nil { makeRoom(at: now) }
    entries[subject] = entry
  }

  /// Ends the last attempt of a login that was right as a whole.
  package mutating func succeed(_ name: String?, codeOf user: Int64? = nil, from address: IPAddress, at now: Moment) {
    for subject in subjects(name, user, address, at: now) {
      if case .place = subject { undo(subject) } else { entries[subject] = nil }
      if case .nameAt = subject { recordLogin(subject, at: now) }
    }
  }

  private mutating func recordLogin(_ subject: Subject, at now: Moment) {
    if logins[subject] == nil, logins.count >= Self.capacity {
      for (old, _) in logins.sorted(by: { $0.value < $1.value }).prefix(Self.capacity / 8) { logins[old] = nil }
    }
    logins[subject] = now
  }

  /// Ends an attempt that was not judged.
  package mutating func withdraw(_ name: String?, codeOf user: Int64? = nil, from address: IPAddress) {
    for subject in subjects(name, user, address) { undo(subject) }
  }

  /// The longest pause after attempts that a service could not judge, as a power of two of seconds: no client waits long once it is back.
  static let shortPause = 5

  /// Ends an attempt that counts, though no service has judged it: the pause is a short one.
  package mutating func shorten(_ name: String?, from address: IPAddress) {
    for subject in subjects(name, nil, address) {
      guard var entry = entries[subject] else { continue }
      entry.failures = min(entry.failures, subject.allowance.free + Self.shortPause)
      entry.end = min(entry.end, entry.last + .seconds(Int64(1) << Self.shortPause))
      entries[subject] = entry
    }
  }

  private mutating func undo(_ subject: Subject) {
    guard var entry = entries[subject] else { return }
    entry.failures -= 1
    entry.end = entry.last
    entries[subject] = entry.failures > 0 ? entry : nil
  }

  private mutating func makeRoom(at now: Moment) {
    guard entries.count >= Self.capacity else { return }
    // Many at once: it costs a sort.
    let least = entries.sorted { ($0.value.failures, $0.value.last) < ($1.value.failures, $1.value.last) }
    for (subject, _) in least.prefix(Self.capacity / 8) { entries[subject] = nil }
  }
}
