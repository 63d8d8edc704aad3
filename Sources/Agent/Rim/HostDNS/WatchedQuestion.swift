package import NetworkTypes

/// A question for a name whose tunnel is down.
package struct WatchedQuestion: Sendable {
  package let tunnel: String
  package let name: String
  /// The client's.
  package let address: IPAddress
  package let port: UInt16
  package let isStream: Bool
}
