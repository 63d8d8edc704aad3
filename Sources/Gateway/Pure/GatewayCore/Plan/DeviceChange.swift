package import NetworkTypes

/// The devices that a change of rows affects, with their part of the desired state before and after it.
package struct DeviceChange: Sendable {
  private let changes: [RowChange]
  private let link: String
  /// The devices, as far as the directories so far show them.
  package private(set) var reach: ChangeReach
  /// Their part of the desired state before the changes.
  package let before: DevicePart
  /// Their part after the changes; `nil`: `complete` has not been called.
  package private(set) var after: DevicePart?
  /// The logins that are no longer valid, of all devices.
  package let ended: [EndedLogin]

  /// More devices than these are compared with all others.
  private static let most = 100

  /// From the directory without the changes. `nil`: the link is not known.
  package init?(of changes: [RowChange], from old: Directory, at now: Timestamp) {
    guard let link = old.site?.link.description else { return nil }
    self.changes = changes
    self.link = link
    reach = ChangeReach(of: changes, in: old)
    before = DevicePart(old, reach.few, link: link, at: now)
    ended = EndedLogin.all(in: changes, from: old, at: now)
  }

  /// With the directory that has the changes.
  package mutating func complete(_ new: Directory, at now: Timestamp) {
    reach = reach.union(ChangeReach(of: changes, in: new))
    if reach.few.count > Self.most { reach = .everything }
    after = DevicePart(new, reach.few, link: link, at: now)
  }

  /// The first end of an account among the changes.
  func nextEnd(after now: Timestamp) -> Timestamp {
    changes.lazy.compactMap { change in
      if case .put(.user(let user)) = change, let until = user.until, until > now { until } else { nil }
    }.min() ?? .distantFuture
  }
}

extension ChangeReach {
  /// The devices; none where it reaches everything.
  fileprivate var few: Set<Int64> {
    if case .devices(let devices) = self { devices } else { [] }
  }
}
