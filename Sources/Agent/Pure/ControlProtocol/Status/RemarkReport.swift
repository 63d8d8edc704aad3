internal import JSON
package import RoamwardCore

/// A note for people, as text and as a code.
package struct RemarkReport: Hashable, Sendable, Codable {
  package var code: ReasonCode
  /// The tunnel; `nil`: the note concerns no single tunnel.
  package var tunnel: String?
  package var text: String

  package init(_ code: ReasonCode, of tunnel: String? = nil, _ text: String) {
    self.code = code
    self.tunnel = tunnel
    self.text = text
  }

  package init(_ remark: Remark) { self.init(remark.code, of: remark.tunnel, remark.text) }

  private enum CodingKeys: String, DescribedKey {
    case code, tunnel, text

    var about: String {
      switch self {
      case .code: "The subject as a code."
      case .tunnel: "The tunnel that it concerns; null: none alone."
      case .text: "For people."
      }
    }
  }
}

extension RemarkReport: CustomStringConvertible {
  package var description: String { (tunnel.map { "\($0): " } ?? "") + text }
}
