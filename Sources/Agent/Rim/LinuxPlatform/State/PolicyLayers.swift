import AgentCore

/// The folders of policies, and their precedence.
package enum PolicyLayers {
  /// The layers of packages, of the run time and of the administrator; a later one takes precedence.
  package static let standard = ["/usr/lib/roamward/policies", "/run/roamward/policies", "/etc/roamward/policies"]
}
