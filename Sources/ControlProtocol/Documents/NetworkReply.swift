package import JSON
package import NetworkTypes

/// What `network`, and `monitor` with snapshots, are answered: the network in the form of a snapshot file, as it was seen then.
package struct NetworkReply: Hashable, Sendable, Codable {
  package var network: JSON
  package var time: Timestamp

  package init(network: JSON, time: Timestamp) {
    self.network = network
    self.time = time
  }
}
