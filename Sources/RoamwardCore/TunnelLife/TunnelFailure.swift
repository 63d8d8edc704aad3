/// Why an attempt to bring a tunnel up, or a tunnel that was connected, has failed.
package struct TunnelFailure: Hashable, Sendable, CustomStringConvertible {
  package let code: ReasonCode
  /// In words, for people: names of places and programs are in here, and not in the code.
  package let description: String

  package init(_ code: ReasonCode, _ description: String) {
    self.code = code
    self.description = description
  }
}
