import Glibc
import ProcessConfinement
import ProxyWorker

private let usage = """
  usage: roamward-proxy --check

  Serve the script of proxies at http://127.82.0.80:82/proxy.pac for roamwardd, or run a script for `roamward proxy`. It has
  no privileges, and uses only the socket that roamwardd passes to it.

    --check     Check that this process can be confined: exit 0 if so.
    -h, --help  Show this help.

  """

exit(ConfinedProgram.run("roamward-proxy", usage: usage, atWork: ProxyWork.run, check: ProxyWork.check))
