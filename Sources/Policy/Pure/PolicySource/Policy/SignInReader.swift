internal import JSON
import NetworkTypes
import RoamwardCore

let signInKeys = Mapping(
  subject: "`sign-in`", draft: [Endpoint](),
  keys: [
    Key(
      "hosts", .oneOrMore(.webServer).atMost(InstalledProviderConfiguration.signInHostLimit),
      "Web servers that the window of `roamward release --sign-in` opens beside that of the provider's page.",
      example: "[login.example.com, \"mfa.example.net:8443\"]"
    ) { $0 = $1 }
  ])

extension ValueReader where Value == [Endpoint] {
  static let signIn: ValueReader = signInKeys.reader("the hosts of a sign-in") { hosts, _, _ in hosts }

  fileprivate func atMost(_ limit: Int) -> ValueReader {
    let read = self.read
    let limited = Schema(["allOf": [schema.value], "maxItems": .integer(Int64(limit))])
    return ValueReader(expected: expected, schema: limited) { node, reading in
      guard let hosts = read(node, &reading) else { return nil }
      if hosts.count <= limit { return hosts }
      reading.error("there are \(hosts.count) hosts; at most \(limit) are allowed", at: node.location)
      return nil
    }
  }
}

extension ValueReader where Value == Endpoint {
  /// A web server: its name or address, and its port if that is not 443.
  fileprivate static let webServer: ValueReader = {
    let expected = "a name or an address, with a port or without it, such as login.example.com"
    return ValueReader(expected: expected, schema: .text(pattern: SchemaPattern.webServer)) { node, reading in
      guard case .scalar(let text, _) = node.content else {
        reading.expected(expected, at: node)
        return nil
      }
      if let server = Endpoint.webServer(text) { return server }
      if text.contains("*") {
        reading.error(
          "\(quoted(text)) is a pattern; the kill switch opens addresses, and only a name has some",
          help: "write each name that the page needs, such as login.example.com", at: node.location)
      } else {
        let isURL = text.contains("/")
        reading.expected(expected, at: node, help: isURL ? "write the name alone, without `https://` and without a path" : nil)
      }
      return nil
    }
  }()
}
