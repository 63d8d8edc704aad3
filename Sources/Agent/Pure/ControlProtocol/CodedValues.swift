package import JSON
package import NetworkTypes
package import RoamwardCore

// The JSON forms of the core's values: each is one text.

extension Timestamp: CodedAsText {
  package static let expected = "a moment such as 2026-11-22T14:03:07.412Z"
  package static let schema: JSON = [
    "type": "string", "format": "date-time", "pattern": #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"#,
  ]
  package static let sample = Timestamp(milliseconds: 0)
}

extension IPAddress: CodedAsText {
  package static let expected = "an IP address"
  package static let schema: JSON = ["type": "string"]
  package static let sample = IPAddress(v4: 0)
}

extension ReasonCode: JSONEnum {}
extension Decision.Outcome: JSONEnum, CaseIterable {
  package static let allCases: [Self] = [.connect, .disconnect, .ignore, .evaluateConnection, .pending]
}
