internal import JSON
import KernelModel
import NetworkTypes
internal import PolicyFiles
import RoamwardCore

let proxyKeys = Mapping(
  subject: "`proxy`", draft: ProxyPolicy(),
  constraints: [
    .init(
      key: "oneOf",
      value: [
        ["required": ["pac"], "properties": script(without: "pac-file", "http", "https")],
        ["required": ["pac-file"], "properties": script(without: "pac", "http", "https")],
        ["anyOf": [.given("http"), .given("https")], "properties": ["pac": ["type": "null"], "pac-file": ["type": "null"]]],
      ])
  ],
  keys: [
    Key(
      "pac", .webAddress, "The URL of a proxy auto-configuration script, fetched through the tunnel when it connects.",
      example: "http://10.0.0.80/proxy.pac"
    ) { $0.pac = $1 },
    Key(
      "pac-file", expects: "a file", schema: ValueReader.line.schema,
      "A file with such a script, relative to the policy; reloaded when it changes.", example: "corp.pac"
    ) { $1.file = scriptFile($0, &$2) },
    Key("http", .proxyServer, "The proxy for http, in place of a script.", example: "10.0.0.80:3128") { $0.http = $1 },
    Key("https", .proxyServer, "The proxy for https, in place of a script.", example: "10.0.0.80:3128") { $0.https = $1 },
    Key(
      "exclude", .oneOrMore(.proxyException),
      "Domains with their names (`*.domain`: its names alone) and addresses that are reached without the proxy.",
      example: "[corp.example, 10.0.0.0/8]"
    ) {
      $0.exclude = $1
    },
    Key(
      "exclude-simple-names", .boolean, "Reach names without a dot without the proxy.", standard: "false", example: "true"
    ) { $0.excludesSimpleNames = $1 },
    Key(
      "publish", .oneOrMore(ValueReader<ProxySink>.word()),
      "The programs that are given the proxies; those of all tunnels together.",
      example: "[environment, dconf, chromium, firefox]"
    ) { $0.publish = $1.uniqued() },
  ])

/// Of the alternatives to a script, none is given.
private func script(without others: String...) -> JSON {
  var members = others.map { JSON.Member(key: $0, value: ["type": "null"]) }
  members.append(.init(key: "exclude", value: ["maxItems": 0, "type": ["array", "null"]]))
  members.append(.init(key: "exclude-simple-names", value: ["enum": [false, .null]]))
  return .object(members)
}

private func scriptFile(_ entry: Node.Entry, _ reading: inout Reading) -> ScriptFile? {
  guard let name = ValueReader.line.read(entry.value, &reading) else { return nil }
  do throws(FileFailure) {
    return try reading.surroundings?.scriptFile(named: name)
  } catch {
    reading.cannotUse(name, error, at: entry.value.location)
    return nil
  }
}

extension ValueReader where Value == ProxyPolicy {
  static let proxy = proxyKeys.reader("a script, or proxies") { proxy, node, reading -> ProxyPolicy? in
    judge(proxy, node, &reading)
    return proxy
  }
}

/// Reports keys that exclude one another, and proxies that lead nowhere.
private func judge(_ proxy: ProxyPolicy, _ node: Node, _ reading: inout Reading) {
  let hasServer = proxy.http != nil || proxy.https != nil
  let isFileGiven = node.gives("pac-file")
  if proxy.pac != nil, isFileGiven {
    reading.error("`pac` and `pac-file` exclude one another", help: "keep the URL or the file", at: node.location)
  } else if proxy.pac != nil || isFileGiven, hasServer || !proxy.exclude.isEmpty || proxy.excludesSimpleNames {
    reading.error(
      "`\(proxy.pac != nil ? "pac" : "pac-file")` excludes `http`, `https`, `exclude` and `exclude-simple-names`: the script decides",
      help: "keep the script or the others", at: node.location)
  } else if proxy.pac == nil, !isFileGiven, !hasServer {
    if reading.problems.hasErrors { return }
    reading.error("`proxy` names no proxy", help: "add `pac`, `pac-file`, `http` or `https`, or remove it", at: node.location)
  } else if !node.gives("publish") {
    reading.warning(
      "`proxy` is given to no program: it has no `publish`",
      help: "add `publish: [environment, dconf, chromium, firefox]`, or some of these", at: node.location)
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
    guard let address = ValueReader.webAddress.read(node, &reading) else { return nil }
    if ProxyServer(address) != nil { return address }
    reading.expected("a proxy such as 10.0.0.80:3128 or http://proxy.corp.example:3128/", at: node)
    return nil
  }

  fileprivate static let proxyException = ValueReader(
    "a domain, an address or a prefix, such as corp.example or 10.0.0.0/8", schema: .text(pattern: SchemaPattern.proxyException)
  ) { text in
    ProxyException(text) != nil ? text : nil
  }
}
