package import NetworkTypes

// The JSON forms of values of the network: each is one text.

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
