import GatewayPostgreSQL
import Glibc
import ProcessConfinement

private let usage = """
  usage: roamward-gateway-store --check

  Connect roamward-gateway, which starts this program, to its store on a PostgreSQL server. It reads what the server
  sends, without privileges, and uses only the one connection.

    --check     Check that this process can be confined: exit 0 if so.
    -h, --help  Show this help.

  """

exit(ConfinedProgram.run("roamward-gateway-store", usage: usage, atWork: StoreWork.run, check: StoreWork.check))
