internal import ControlProtocol
internal import LinuxPlatform
package import RoamwardCore

/// The agent's paths and options.
package struct AgentSettings: Sendable {
  package var policyLayers = PolicyLayers.standard
  package var stateDirectory = "/var/lib/roamward"
  package var socket = ControlSocket.standard
  package var ssidFile: String?
  package var resolvConf = "/etc/resolv.conf"
  /// The delay between a network change and its observation.
  package var settle = Duration.milliseconds(500)
  /// The check for internet access or a captive portal; `nil`: none.
  package var connectivityCheck: ConnectivityCheck?

  package init() {}
}
