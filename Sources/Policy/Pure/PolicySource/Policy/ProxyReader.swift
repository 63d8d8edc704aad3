internal import JSON
import NetworkTypes
import RoamwardCore

let proxyKeys = Mapping(
  subject: "`proxy`", draft: ProxyPolicy(),
  constraints: [
    .init(
      key: "oneOf",
      value: [
        [
          "required": ["pac"],
          "properties": [
            "pac": ["type": "string"], "http": ["type": "null"], "https": ["type": "null"],
            "exclude": ["maxItems": 0, "type": ["array", "null"]],
          ],
        ],
        ["anyOf": [.given("http"), .given("https")], "properties": ["pac": ["type": "null"]]],
      ])
  ],
  keys: [
    Key("pac", .webAddress, "The URL of a proxy auto-configuration script.", example: "http://10.0.0.80/proxy.pac") { $0.pac = $1 },
    Key("http", .proxyServer, "The proxy for http, in place of `pac`.", example: "10.0.0.80:3128") { $0.http = $1 },
    Key("https", .proxyServer, "The proxy for https, in place of `pac`.", example: "10.0.0.80:3128") { $0.https = $1 },
    Key(
      "exclude", .oneOrMore(.proxyException), "Domains and addresses that are reached without the proxy.",
      example: "[corp.example, 10.0.0.0/8]"
    ) {
      $0.exclude = $1
    },
  ])

extension ValueReader where Value == ProxyPolicy {
  static let proxy = proxyKeys.reader("a script, or proxies") { proxy, node, reading -> ProxyPolicy? in
    let hasServer = proxy.http != nil || proxy.https != nil
    if proxy.pac != nil, hasServer || !proxy.exclude.isEmpty {
      reading.error(
        "`pac` excludes `http`, `https` and `exclude`: the script decides", help: "keep the script or the others", at: node.location)
    } else if proxy.pac == nil, !hasServer, !reading.problems.hasErrors {
      reading.error("`proxy` names no proxy", help: "add `pac`, `http` or `https`, or remove it", at: node.location)
    }
    return proxy
  }
}

extension ValueReader where Value == String {
  /// `HOST:PORT`, kept as written, or a URL.
  fileprivate static let proxyServer = ValueReader(
    expected: "a proxy such as 10.0.0.80:3128 or http://proxy.corp.example:3128/", schema: .string(pattern: SchemaPattern.proxyServer)
  ) { node, reading in
    if case .scalar(let text, _) = node.content, !text.contains("://"), !text.contains("@") {
      if Endpoint(text) != nil { return text }
      reading.expected("a proxy such as 10.0.0.80:3128 or http://proxy.corp.example:3128/", at: node)
      return nil
    }
    return ValueReader.webAddress.read(node, &reading)
  }

  fileprivate static let proxyException = ValueReader(
    "a domain, an address or a prefix, such as corp.example or 10.0.0.0/8", schema: .text(pattern: SchemaPattern.proxyException)
  ) { text in
    IPPrefix(text) != nil || DomainPattern(text) != nil ? text : nil
  }
}
