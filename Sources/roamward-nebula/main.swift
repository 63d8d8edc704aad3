import Glibc
import NebulaProvider
import RoamwardProvider

private let usage = """
  usage: roamward-nebula

  Be the provider of Nebula tunnels for roamwardd, which starts this program for each. It runs nebula(1) on a device of
  roamwardd, with the capability net-admin and no other. A policy names it: installed: { name: nebula }.

    -h, --help  Show this help.

  """

if CommandLine.arguments.dropFirst().contains(where: { ["-h", "--help"].contains($0) }) {
  print(usage, terminator: "")
  exit(0)
}
exit(ProviderProgram.run(Nebula<NebulaProcess>.self, program: "roamward-nebula 0.1.0"))
