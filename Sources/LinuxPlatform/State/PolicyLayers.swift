import AgentCore

/// Where policies live, and who beats whom.
package enum PolicyLayers {
  /// What a package ships, what is made at run time, what the administrator says; later beats earlier.
  package static let standard = ["/usr/lib/roamward/policies", "/run/roamward/policies", "/etc/roamward/policies"]
}
