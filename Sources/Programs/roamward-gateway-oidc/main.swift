import GatewayOpenID
import Glibc
import ProcessConfinement

private let usage = """
  usage: roamward-gateway-oidc --check

  Sign people in at an OpenID provider for roamward-gateway, which starts this program. It reads what the provider says.
  It has no privileges, and connects by TCP alone, apart from its questions to name servers.

    --check     Check that this process can be confined: exit 0 if so.
    -h, --help  Show this help.

  """

exit(ConfinedProgram.run("roamward-gateway-oidc", usage: usage, atWork: OpenIDWork.run, check: OpenIDWork.check))
