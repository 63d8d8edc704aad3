import ClientProvider
import NebulaProvider
import NetworkTypes
import OpenConnectProvider
import OpenVPNProvider
import RoamwardProvider
import StrongSwanProvider

/// A provider of this project. All of them are one program, because they share most of their code.
enum ShippedProvider: String, CaseIterable {
  case openvpn, openconnect, nebula, strongswan, client

  /// By `NAME`, or by the name of its link, `roamward-NAME`.
  init?(named name: String) {
    let prefix = "roamward-"
    self.init(rawValue: name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name)
  }

  private var program: String { "roamward-\(rawValue)" }

  func run() -> Int32 {
    let name = "\(program) \(releaseVersion)"
    switch self {
    case .openvpn: return ProviderProgram.run(OpenVPN<OpenVPNProcess>.self, program: name)
    case .openconnect: return ProviderProgram.run(OpenConnect<OpenConnectProcess>.self, program: name)
    case .nebula: return ProviderProgram.run(Nebula<NebulaProcess>.self, program: name)
    case .client: return ProviderProgram.run(GatewayClient<EngineProcess>.self, program: name)
    case .strongswan: return ProviderProgram.run(StrongSwan<CharonProcess>.self, program: name)
    }
  }

  /// The text of `--help`.
  var usage: String {
    """
    usage: \(program)

    \(about)

      -h, --help  Show this help.

    """
  }

  static var usage: String {
    """
    usage: roamward-provider <name>
           roamward-provider --read-pin <host:port>
           roamward-provider --read-tlsa <host:port> <name-server>

    Be a provider of tunnels for roamwardd, which starts this program for each tunnel, by the name of a link such as
    roamward-openvpn. Names: \(allCases.map(\.rawValue).joined(separator: ", ")).

      --read-pin   Print the pin that a gateway's logins show, for `roamward login`.
      --read-tlsa  Print the pins that DNS has for a gateway, by this name server.
      -h, --help   Show this help, or that of a provider.

    """
  }

  private var about: String {
    switch self {
    case .openvpn:
      """
      Be the provider of OpenVPN tunnels for roamwardd, which starts this program for each. It runs openvpn(8) without
      privileges, on a device and with settings of roamwardd. A policy names it: installed: { name: openvpn }.
      """
    case .openconnect:
      """
      Be the provider of OpenConnect tunnels for roamwardd, which starts this program for each. It runs openconnect(8) without
      privileges, on a device and with settings of roamwardd. A policy names it: installed: { name: openconnect }.
      """
    case .nebula:
      """
      Be the provider of Nebula tunnels for roamwardd, which starts this program for each. It runs nebula(1) on a device of
      roamwardd, with the capability net-admin and no other. A policy names it: installed: { name: nebula }.
      """
    case .client:
      """
      Be the client of roamward-gateway(8) for roamwardd, which starts this program for each tunnel. It logs in where that is needed, and
      runs roamward-wireguard(8) on a device of roamwardd, without privileges. A policy names it: installed: { name: roamward }.
      """
    case .strongswan:
      """
      Be the provider of IKEv2 tunnels for roamwardd, which starts this program for each. It runs charon of strongSwan for an
      XFRM interface of roamwardd, with the capability net-admin and no other. A policy names it: installed: { name: strongswan }.
      """
    }
  }
}
