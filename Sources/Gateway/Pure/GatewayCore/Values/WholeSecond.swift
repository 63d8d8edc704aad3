package import NetworkTypes

extension Timestamp {
  /// The same time without its part of a second. The store, the audit log and the reports of a gateway have whole seconds.
  package var wholeSecond: Timestamp { Timestamp(seconds: seconds) }
}
