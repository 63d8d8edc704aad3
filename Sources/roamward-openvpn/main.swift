import Glibc
import OpenVPNProvider
import RoamwardProvider

private let usage = """
  usage: roamward-openvpn

  Be the provider of OpenVPN tunnels for roamwardd, which starts this program for each. It runs openvpn(8) without
  privileges, on a device and with settings of roamwardd. A policy names it: installed: { name: openvpn }.

    -h, --help  Show this help.

  """

if CommandLine.arguments.dropFirst().contains(where: { ["-h", "--help"].contains($0) }) {
  print(usage, terminator: "")
  exit(0)
}
exit(ProviderProgram.run(OpenVPN<OpenVPNProcess>.self, program: "roamward-openvpn 0.1.0"))
