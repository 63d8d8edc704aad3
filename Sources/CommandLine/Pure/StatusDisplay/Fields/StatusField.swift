package import ControlProtocol
internal import JSON
internal import NetworkTypes

/// A single value of a status, for scripts: the members of `status --json` by name.
package enum StatusField {
  /// The reason why there is no such value, with the known names.
  package struct Unknown: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
  }

  /// The value as text: `connected`. Of a list one line for each element, of an object JSON, of null nothing. A dot leads into an object:
  /// `rule.line`.
  ///
  /// `tunnel`: the member is one of that tunnel; `nil`: of the whole report.
  package static func text(_ name: String, of report: StatusReport, tunnel: String?) throws(Unknown) -> String {
    var value = JSON(encoding: report)
    if let tunnel {
      guard let found = report.tunnels.first(where: { $0.name == tunnel }) else { throw unknownTunnel(tunnel, in: report) }
      value = JSON(encoding: found)
    }
    var path = ""
    for part in name.split(separator: ".", omittingEmptySubsequences: false) {
      guard case .object(let members) = value else {
        if value == .null { return "" }
        throw Unknown(description: "\(path) is one value and has no field \(quoted(String(part)))")
      }
      guard let member = members.first(where: { $0.key == part }) else {
        let known = members.map(\.key).joined(separator: ", ")
        throw Unknown(description: "no field \(quoted(String(part)))\(path.isEmpty ? "" : " in \(path)"); known: \(known)")
      }
      value = member.value
      path += path.isEmpty ? String(part) : ".\(part)"
    }
    return text(value)
  }

  /// The names of a tunnel's fields, for completions.
  package static var names: [String] {
    let properties = (try? JSON.schema(of: StatusReport.Tunnel.self))?["properties"]?.members ?? []
    return properties.map(\.key)
  }

  /// The error for a name that no policy describes.
  package static func unknownTunnel(_ name: String, in report: StatusReport) -> Unknown {
    let known = report.tunnels.map(\.name).joined(separator: ", ")
    return Unknown(description: "no tunnel is named \(quoted(name)); known: \(known.isEmpty ? "none" : known)")
  }

  private static func text(_ value: JSON) -> String {
    switch value {
    case .null: ""
    case .string(let text): text
    case .array(let items): items.map { text($0) }.joined(separator: "\n")
    default: value.text()
    }
  }

  private static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }
}
