package import JSON
package import RoamwardCore

extension SnapshotWithSources {
  /// The schema of what `roamward network --json` prints. `SnapshotJSON.swift` leaves out facts with their default value.
  package static var schema: JSON {
    get throws {
      let links = described("Links by name.", ["type": "object", "additionalProperties": LinkFacts.schema])
      let first: [JSON.Member] = [
        .init(key: "version", value: described("The version of this document.", DocumentVersion.schema)),
        .init(key: "primary", value: described("The link of the best default route; null: no network.", ["type": ["string", "null"]])),
        .init(key: "links", value: links),
      ]
      let facts = described("The source of each fact, by link and of the machine.", try JSON.schema(of: FactReports.self))
      let properties =
        first + FactTable.ofNetwork.map(\.member) + probes + FactTable.ofHost.map(\.member) + [.init(key: "facts", value: facts)]
      return ["type": "object", "properties": .object(properties), "required": ["version", "primary", "links", "facts"]]
    }
  }

  private static let probes: [JSON.Member] = {
    let word: JSON = ["enum": ["ok", "fail", "unknown"]]
    return [
      .init(
        key: "probes",
        value: described(
          "Results of probes, by URL and the options that distinguish them.", ["type": "object", "additionalProperties": word])),
      .init(key: "other-probes", value: described("The result of all other probes; absent: fail.", word)),
      .init(
        key: "remembered-probes",
        value: described(
          "Results of probes during the last visit to this network.", ["type": "object", "additionalProperties": ["enum": ["ok", "fail"]]])),
      .init(
        key: "captive-portal-api", value: described("The API of the network's captive portal (RFC 8908).", ["type": "string"])),
    ]
  }()
}

extension LinkFacts {
  fileprivate static var schema: JSON {
    let lists: JSON = ["type": "array", "items": ["type": "string"]]
    let properties =
      FactTable.ofLinks.map(\.member) + [
        .init(key: "mtu", value: described("The MTU, in bytes.", ["type": "integer"])),
        .init(key: "unknown", value: described("The keys of facts that are not known.", lists)),
        .init(key: "unavailable", value: described("The keys of facts that no source of this host can give.", lists)),
      ]
    return ["type": "object", "properties": .object(properties), "required": ["mtu"]]
  }
}

extension FactDeclaration {
  /// The fact as a member of its link or of the machine.
  fileprivate var member: JSON.Member {
    // A fact of a link is listed where it is unknown; one of the machine says so itself.
    let words: [JSON] = isOfLink ? [] : [["enum": ["unknown", "unavailable"]]]
    let schema: JSON = isList ? ["type": "array", "items": form.schema] : form.schema
    return .init(key: key, value: described(about, words.isEmpty ? schema : ["anyOf": .array([schema] + words)]))
  }
}

extension WrittenForm {
  fileprivate var schema: JSON {
    switch self {
    case .flag: ["type": "boolean"]
    case .word(let words): ["enum": JSON(words)]
    default: ["type": "string"]
    }
  }
}

private func described(_ about: String, _ schema: JSON) -> JSON {
  .object([.init(key: "description", value: .string(about))] + (schema.members ?? []))
}
