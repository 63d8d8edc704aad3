package import JSON
package import NetworkTypes

/// The reply to `network`, and to `monitor` with snapshots: the observed network in the form of a snapshot file.
package struct NetworkReply: Equatable, Sendable, Codable {
  package var network: JSON
  package var time: Timestamp

  package init(network: JSON, time: Timestamp) {
    self.network = network
    self.time = time
  }
}
