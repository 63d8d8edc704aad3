import GatewayAuth
import Glibc
import ProcessConfinement

private let usage = """
  usage: roamward-gateway-auth --check

  Run the logins and relays of a gateway for roamward-gateway, which starts this program. It reads what clients send,
  checks passwords, and takes packets to the gateway's own WireGuard port. It has no privileges, and uses only the
  listening sockets that roamward-gateway passes to it.

    --check     Check that this process can be confined: exit 0 if so.
    -h, --help  Show this help.

  """

exit(ConfinedProgram.run("roamward-gateway-auth", usage: usage, atWork: AuthWork.run, check: AuthWork.check))
