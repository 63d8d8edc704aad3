package import RoamwardCore

/// Prints values as the text of a policy file. Equal values give equal text, and reading it gives the values back.
///
/// Some nested conditions have no direct syntax, such as the same key twice in one match. They are printed as others of the same meaning.
/// Default values are not printed.
package enum PolicyPrinter {
  /// A whole file, from `version: 1` to a newline.
  package static func yaml(
    networks: [NamedNetwork] = [], tunnels: [PrintableTunnel] = [], groups: [TunnelGroup] = [],
    history: HistorySettings = HistorySettings()
  ) -> String {
    var file = YAMLMapping()
    file.add("version", .word("1"))
    if !networks.isEmpty {
      file.add("networks", .mapping(YAMLMapping(networks.map { ($0.name, .mapping(criteria(of: $0.condition))) })))
    }
    let settings = yaml(of: history)
    if !settings.isEmpty { file.add("history", .mapping(settings)) }
    if !tunnels.isEmpty { file.add("tunnels", .mapping(YAMLMapping(tunnels.map { ($0.name, .mapping(yaml(of: $0))) }))) }
    if !groups.isEmpty { file.add("groups", .mapping(YAMLMapping(groups.map { ($0.name, .mapping(yaml(of: $0))) }))) }
    return file.text
  }

  /// A condition as an entry of a list, such as that of `any-of`; with its indentation and a newline at the end.
  package static func listEntry(of condition: Condition, indent: Int) -> String {
    let text = YAMLMapping([("any-of", .list([.mapping(criteria(of: condition))]))]).text
    // Without the line of the key.
    return text.split(separator: "\n").dropFirst().map { line in String(repeating: " ", count: max(0, indent - 2)) + line + "\n" }.joined()
  }

  /// A name as a key.
  package static func key(_ name: String) -> String { yamlScalar(name) }

  /// A set that was read. Its files are named by absolute paths.
  package static func yaml(_ policies: PolicySet) -> String {
    yaml(
      networks: policies.networks, tunnels: policies.tunnels.map { PrintableTunnel($0).asMember(of: policies.group(of: $0.name)) },
      groups: policies.groups, history: policies.history)
  }

  /// The settings of the record that are not the defaults.
  private static func yaml(of history: HistorySettings) -> YAMLMapping {
    let defaults = HistorySettings()
    var mapping = YAMLMapping()
    if !history.isEnabled { mapping.add("enabled", .word("false")) }
    if history.size != defaults.size {
      let (count, rest) = history.size.quotientAndRemainder(dividingBy: 1 << 20)
      mapping.add("size", .word(rest == 0 ? "\(count)MiB" : "\(history.size >> 10)KiB"))
    }
    if history.age != defaults.age { mapping.add("age", .word("\(history.age.components.seconds / 3600)h")) }
    if history.names != defaults.names { mapping.add("names", .word(history.names.rawValue)) }
    return mapping
  }
}
