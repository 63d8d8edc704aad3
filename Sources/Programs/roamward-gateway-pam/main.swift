import GatewayPAM
import Glibc
import ProcessConfinement

private let usage = """
  usage: roamward-gateway-pam --check

  Check one password by a PAM service for roamward-gateway, which starts this program for each login. The modules of the
  service run in it, without privileges: they read files and ask services of the network.

    --check     Check that this process can be confined: exit 0 if so.
    -h, --help  Show this help.

  """

exit(ConfinedProgram.run("roamward-gateway-pam", usage: usage, atWork: PAMWork.run, check: PAMWork.check))
