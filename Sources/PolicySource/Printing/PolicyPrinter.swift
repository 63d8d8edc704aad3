package import RoamwardCore

/// Values as the text of a policy file. The same values give the same text, and reading it gives the values back.
///
/// Conditions that the language cannot spell as they are nested, such as the same key twice in one match, are spelled by others of the
/// same meaning. What a policy does not say, because it is the default, is not printed.
package enum PolicyPrinter {
  /// A whole file, from `version: 1` to a newline.
  package static func yaml(networks: [NamedNetwork] = [], tunnels: [PrintableTunnel] = []) -> String {
    var file = YAMLMapping()
    file.add("version", .word("1"))
    if !networks.isEmpty {
      file.add("networks", .mapping(YAMLMapping(networks.map { ($0.name, .mapping(criteria(of: $0.condition))) })))
    }
    if !tunnels.isEmpty { file.add("tunnels", .mapping(YAMLMapping(tunnels.map { ($0.name, .mapping(yaml(of: $0))) }))) }
    return file.text
  }

  /// A set that was read. Files that it names are named by their absolute paths.
  package static func yaml(_ policies: PolicySet) -> String {
    yaml(networks: policies.networks, tunnels: policies.tunnels.map { PrintableTunnel($0) })
  }
}
