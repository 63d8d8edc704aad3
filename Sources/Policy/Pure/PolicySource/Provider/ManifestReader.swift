internal import JSON
import NetworkTypes
import RoamwardCore

/// The partly read keys of a manifest.
struct ManifestDraft {
  var name: String?
  var about: String?
  var program: String?
  var user: String?
  var needs: [ProviderProgram.Need] = []
  var capability: ProviderProgram.Capability?
  var isInsecure = false
  var options: OptionSchema?
}

let manifestKeys = Mapping(
  subject: "a provider's manifest", draft: ManifestDraft(),
  keys: [
    Key(required: "name", .manifestName, "The name by which policies call it.", example: "plain-udp") { $0.name = $1 },
    Key(required: "about", .line, "What the provider is.", example: "IP packets in UDP datagrams.") { $0.about = $1 },
    Key(required: "program", .program, "The program.", example: "/usr/lib/roamward/providers/plain-udp") { $0.program = $1 },
    Key(required: "user", .unprivilegedUser, "The user that the program runs as.", example: "roamward") { $0.user = $1 },
    Key("needs", .oneOrMore(.word()), "The requests that the program makes.", example: "[device, udp]") { $0.needs = $1 },
    Key("capability", .word(), "The one capability that the program cannot do without.", example: "net-admin") { $0.capability = $1 },
    Key("insecure", .boolean, "Whether policies have to accept that it protects nothing.", standard: "false", example: "true") {
      $0.isInsecure = $1
    },
    Key(required: "options", .optionSchema, "The JSON Schema of a tunnel's options.", example: "{ type: object }") { $0.options = $1 },
  ])

func readManifest(_ node: Node, _ reading: inout Reading) -> ProviderManifest? {
  guard let draft = manifestKeys.read(node, &reading), let name = draft.name, let about = draft.about, let program = draft.program,
    let user = draft.user, let options = draft.options
  else { return nil }
  guard case .object = options.kind else {
    reading.error("the options of a provider are an object", help: "write `type: object` and its `properties`", at: node.location)
    return nil
  }
  if draft.needs.contains(.device), draft.needs.contains(.xfrm) {
    reading.error("a provider has one link", help: "leave `device` or `xfrm` out of `needs`", at: node.location)
    return nil
  }
  return ProviderManifest(
    name: name, about: about, program: program, user: user, needs: Set(draft.needs), capability: draft.capability,
    isInsecure: draft.isInsecure, options: options)
}

extension ValueReader where Value == String {
  /// A word of the provider protocol, without dots: it is part of file names.
  static let manifestName = ValueReader("a small letter, then small letters, digits and `-`, 64 bytes at most") { text in
    guard (1...64).contains(text.utf8.count), let first = text.utf8.first, (97...122).contains(first) else { return nil }
    return text.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 45 } ? text : nil
  }

  static let program = ValueReader("an absolute path", help: "the program is never searched on PATH") { text in
    text.hasPrefix("/") && text.utf8.count <= 4096 && !text.hasSuffix("/") && !"\(text)/".contains("/../") ? text : nil
  }

  static let unprivilegedUser = ValueReader(
    "the name of a user other than root", help: "the agent opens devices and sockets for the program: it needs no privileges"
  ) { text in
    let isName = (1...32).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
    let isNumber = text.utf8.allSatisfy { (48...57).contains($0) }
    return isName && !isNumber && text != "root" ? text : nil
  }
}

extension ValueReader where Value == OptionSchema {
  static let optionSchema = ValueReader(expected: "a JSON Schema", schema: Schema(["type": "object"])) { node, reading in
    OptionSchema(node, &reading)
  }
}
