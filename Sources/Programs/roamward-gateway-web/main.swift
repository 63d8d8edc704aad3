import GatewayWeb
import Glibc
import ProcessConfinement

private let usage = """
  usage: roamward-gateway-web --check

  Run the page of a gateway for roamward-gateway, which starts this program. It reads the requests that browsers send, and
  asks roamward-gateway. It has no privileges, and uses only the connections that roamward-gateway passes to it.

    --check     Check that this process can be confined: exit 0 if so.
    -h, --help  Show this help.

  """

exit(ConfinedProgram.run("roamward-gateway-web", usage: usage, atWork: WebWork.run, check: WebWork.check))
