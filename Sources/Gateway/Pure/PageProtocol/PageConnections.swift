/// The number of connections that the page has at once. A browser needs six; one user's devices together cannot take what others need.
package enum PageConnections {
  package static let limit = 256
  package static let limitOfUser = 24
  package static let limitOfDevice = 12

  /// The user and the device of a connection, by their numbers in the store.
  package struct Holder: Hashable, Sendable {
    package var user: Int64
    package var device: Int64

    package init(user: Int64, device: Int64) {
      self.user = user
      self.device = device
    }
  }

  package static func hasRoom(for holder: Holder, among present: some Sequence<Holder>) -> Bool {
    var (all, ofUser, ofDevice) = (0, 0, 0)
    for other in present {
      all += 1
      ofUser += other.user == holder.user ? 1 : 0
      ofDevice += other == holder ? 1 : 0
    }
    return all < limit && ofUser < limitOfUser && ofDevice < limitOfDevice
  }
}
