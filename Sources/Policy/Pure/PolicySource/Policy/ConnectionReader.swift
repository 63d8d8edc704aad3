internal import JSON
import NetworkTypes
import RoamwardCore

/// The partly read keys of an entry of `connections`.
struct ConnectionDraft {
  var domains: [DomainPattern]?
  var action: ConnectionRule.Action?
  var servers: [IPAddress] = []
  var probe: Probe?
  /// The keys that are valid only with `connect-if-needed`.
  var conditional: [Node.Entry] = []
}

let connectionKeys = Mapping(
  subject: "an entry of `connections`", draft: ConnectionDraft(),
  constraints: JSON.only("dns-servers", "probe", with: ConnectionRule.Action.connectIfNeeded.rawValue, isRequired: false),
  keys: [
    Key(
      "domains", .oneOrMore(.domainPattern), "The domains of the entry, each with all names below it; `*` is every name.",
      example: "[corp.example]", missing: "for example: domains: [corp.example]"),
    Key(required: "action", ValueReader<ConnectionRule.Action>.word(), "The effect of looking up its names.", example: "connect-if-needed")
    {
      $0.action = $1
    },
    Key(
      "dns-servers", expects: "an IP address, or a list of such", schema: .oneOrMore(.definition("address")),
      "With `connect-if-needed`: name servers that must be able to answer for these domains.",
      example: "[10.0.0.53]"
    ) { entry, draft, reading in
      draft.servers = ValueReader.oneOrMore(.address).read(entry.value, &reading) ?? []
      draft.conditional.append(entry)
    },
    Key(
      "probe", expects: "an http:// or https:// URL, or a mapping with `url`", schema: .definition("probe"),
      "With `connect-if-needed`: the tunnel is started if this request is not answered.",
      example: "https://intranet.corp.example/"
    ) { entry, draft, reading in
      draft.probe = ValueReader.probe.read(entry.value, &reading)
      draft.conditional.append(entry)
    },
  ])

extension Key where Draft == ConnectionDraft {
  /// The domains; at least one is required.
  fileprivate init(_ name: String, _ reader: ValueReader<[DomainPattern]>, _ about: String, example: String, missing: String) {
    let schema = Schema(["allOf": [reader.schema.value], "minItems": 1])
    self.init(name, expects: reader.expected, schema: schema, about, example: example, missing: missing) { entry, draft, reading in
      let before = reading.problems.errorCount
      let domains = reader.read(entry.value, &reading) ?? []
      if domains.isEmpty, reading.problems.errorCount == before {
        reading.error(
          "`domains` is empty, so the entry would never decide", help: "name domains, or `*` for every name", at: entry.keyLocation)
      }
      for domain in domains {
        guard case .within(let name) = domain, isAddress(name) else { continue }
        reading.warning(
          "\(name.text) is an address, and only names are looked up", help: "name the domain; addresses belong under `routes`",
          at: entry.value.location)
      }
      draft.domains = domains
    }
  }
}

/// True if the last label is a number: the name is an address, because such a top-level domain will never exist.
private func isAddress(_ name: DomainName) -> Bool {
  name.text.utf8.reversed().prefix { $0 != UInt8(ascii: ".") }.allSatisfy { (48...57).contains($0) }
}

func readConnections(_ entry: Node.Entry, _ reading: inout Reading) -> [ConnectionRule] {
  let help = "put a dash before each entry: `- { domains: [corp.example], action: connect-if-needed }`"
  guard case .sequence(let nodes) = entry.value.content else {
    reading.expected("a list of domains and actions", at: entry.value, help: help)
    return []
  }
  if nodes.isEmpty {
    reading.error("`connections` is empty, so a look-up would never do anything", help: help, at: entry.keyLocation)
  }
  return nodes.compactMap { readConnection($0, &reading) }
}

private func readConnection(_ node: Node, _ reading: inout Reading) -> ConnectionRule? {
  guard let draft = connectionKeys.read(node, &reading), let domains = draft.domains, let action = draft.action else { return nil }
  if action != .connectIfNeeded {
    for entry in draft.conditional {
      reading.error(
        "`\(entry.key)` has no meaning beside `action: \(action.rawValue)`", help: "say `action: connect-if-needed`, or remove it",
        at: entry.keyLocation)
    }
  }
  return ConnectionRule(domains: DomainList(domains), action: action, servers: draft.servers, probe: draft.probe, location: node.location)
}
