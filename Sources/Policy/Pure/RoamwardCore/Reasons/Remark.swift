/// A note for people about a tunnel, or about all, that is neither a step nor a failure. With the tunnel's name in front it is a line of
/// `status`.
package struct Remark: Hashable, Sendable, CustomStringConvertible {
  package let code: ReasonCode
  /// The tunnel; `nil`: the note concerns no single tunnel.
  package let tunnel: String?
  package let text: String

  package init(_ code: ReasonCode, of tunnel: String? = nil, _ text: String) {
    self.code = code
    self.tunnel = tunnel
    self.text = text
  }

  package var description: String { (tunnel.map { "\($0): " } ?? "") + text }
}
