package import NetworkTypes

/// In tests a number is a time in seconds since 1970.
extension Timestamp: ExpressibleByIntegerLiteral {
  package init(integerLiteral seconds: Int64) { self.init(seconds: seconds) }
}

/// In tests a number behind a time is a count of seconds.
package func + (time: Timestamp, seconds: Int64) -> Timestamp { time + .seconds(seconds) }
package func - (time: Timestamp, seconds: Int64) -> Timestamp { time - .seconds(seconds) }
package func += (time: inout Timestamp, seconds: Int64) { time = time + seconds }
