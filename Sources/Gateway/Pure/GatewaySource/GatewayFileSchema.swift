internal import JSON
import PolicySource

/// The JSON Schema (draft 7) of a gateway's files, for editors: derived from the declarations of the reader.
package func gatewayFileSchema() -> String {
  guard case .object(var file) = gatewayFileKeys.schema.value else { return "" }
  // An empty file masks others of its name.
  if let place = file.firstIndex(where: { $0.key == "type" }) { file[place].value = ["object", "null"] }
  let head: [JSON.Member] = [
    .init(key: "$schema", value: "http://json-schema.org/draft-07/schema#"),
    .init(key: "title", value: "A file that declares a gateway, and what `roamward-gateway export --json` prints."),
  ]
  let required = JSON.Member(key: "required", value: ["version"])
  let tail = JSON.Member(key: "definitions", value: sharedDefinitions())
  return JSON.object(head + file + [required, tail]).text(indented: true) + "\n"
}
