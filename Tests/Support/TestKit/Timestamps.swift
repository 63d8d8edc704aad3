package import NetworkTypes

/// In tests a number is a moment, in seconds since 1970.
extension Timestamp: ExpressibleByIntegerLiteral {
  package init(integerLiteral seconds: Int64) { self.init(seconds: seconds) }
}
