import Glibc
import OpenConnectProvider
import RoamwardProvider

private let usage = """
  usage: roamward-openconnect

  Be the provider of OpenConnect tunnels for roamwardd, which starts this program for each. It runs openconnect(8) without
  privileges, on a device and with settings of roamwardd. A policy names it: installed: { name: openconnect }.

    -h, --help  Show this help.

  """

if CommandLine.arguments.dropFirst().contains(where: { ["-h", "--help"].contains($0) }) {
  print(usage, terminator: "")
  exit(0)
}
exit(ProviderProgram.run(OpenConnect<OpenConnectProcess>.self, program: "roamward-openconnect 0.1.0"))
