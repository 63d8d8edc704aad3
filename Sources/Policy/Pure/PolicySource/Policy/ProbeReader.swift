internal import JSON
import KernelModel
import NetworkTypes
import RoamwardCore

/// The partly read keys of a probe.
struct ProbeDraft {
  var url: String?
  var status = 200
  var pins: (digests: [String], location: SourceLocation)?
  var timeout = Probe(url: "").timeout
}

let probeKeys = Mapping(
  subject: "`probe`", draft: ProbeDraft(),
  constraints: [
    .init(
      key: "if",
      value: ["required": ["pin"], "properties": ["pin": ["not": ["anyOf": [["type": "null"], ["maxItems": 0, "type": "array"]]]]]]),
    .init(key: "then", value: ["properties": ["url": ["pattern": "^[Hh][Tt][Tt][Pp][Ss]:"]]]),
  ],
  keys: [
    Key(required: "url", .webAddress, "The URL to request with GET.", example: "https://beacon.corp.example/") { $0.url = $1 },
    Key("status", .probeStatus, "The only accepted HTTP status; redirects are never accepted.", standard: "200", example: "204") {
      $0.status = Int($1)
    },
    Key(
      "pin", expects: "a pin, or a list of such", schema: .oneOrMore(ValueReader.pin.schema),
      "SHA-256 of the server's public key; of several, one has to match.", example: "sha256//MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI="
    ) { entry, draft, reading in
      draft.pins = ValueReader.oneOrMore(.pin).read(entry.value, &reading).map { ($0, entry.keyLocation) }
    },
    Key("timeout", .positiveDuration, "The maximum time until the answer.", standard: "5s", example: "2s") { $0.timeout = $1 },
  ])

extension ValueReader where Value == Probe {
  /// A URL, or a mapping with further keys.
  static let probe = ValueReader(
    expected: "an http:// or https:// URL, or a mapping with `url`",
    schema: .either(ValueReader<String>.webAddress.schema, probeKeys.schema)
  ) { node, reading in
    guard case .mapping = node.content else { return ValueReader<String>.webAddress.read(node, &reading).map { Probe(url: $0) } }
    guard let draft = probeKeys.read(node, &reading), let url = draft.url else { return nil }
    if let pins = draft.pins, !pins.digests.isEmpty, url.hasPrefix("http://") {
      reading.error("a pin needs https: plain http shows no key", help: "ask for https://…, or remove the pin", at: pins.location)
    }
    return Probe(url: url, status: draft.status, pins: draft.pins?.digests ?? [], timeout: draft.timeout)
  }
}

extension ValueReader where Value == UInt32 {
  /// No redirect is the answer of a beacon: it leads elsewhere, as captive portals do.
  fileprivate static let probeStatus = number(100...599).warning { text, status in
    guard (300...399).contains(status) else { return nil }
    return ("a redirect is never accepted, so no answer has the status \(text)", "probe the address that it leads to")
  }
}

extension ValueReader where Value == String {
  fileprivate static let pin = ValueReader(
    "a pin such as sha256//MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=",
    schema: .string(pattern: "^sha256//[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$"),
    help: "`sha256//` and the base64 of the 32 bytes of a SHA-256 digest of the server's public key, as curl's --pinnedpubkey takes it"
  ) { text in
    text.hasPrefix("sha256//") && WireGuardKey(base64: String(text.dropFirst(8))) != nil ? text : nil
  }
}
