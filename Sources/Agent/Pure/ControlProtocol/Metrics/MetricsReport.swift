package import NetworkTypes

/// The reply to `metrics`: the agent's state, and what it has counted since it started.
package struct MetricsReport: Equatable, Sendable, Codable {
  package var started: Timestamp
  package var status: StatusReport
  package var counts: [Count]

  package init(started: Timestamp, status: StatusReport, counts: EventCounts) {
    self.started = started
    self.status = status
    self.counts = counts.report
  }

  /// A count of events.
  package struct Count: Equatable, Sendable, Codable {
    package var subject: EventCounts.Subject
    /// `nil`: it concerns no single tunnel.
    package var tunnel: String?
    package var detail: String
    package var number: Int64

    package init(_ key: EventCounts.Key, _ number: Int64) {
      subject = key.subject
      tunnel = key.tunnel
      detail = key.detail
      self.number = number
    }
  }
}
