import Glibc
import ProbeWorker
import ProcessConfinement

private let usage = """
  usage: roamward-probe --check

  Resolve names and send probes for roamwardd, which starts this program when a policy needs it. It has no privileges,
  and uses only the sockets that roamwardd passes to it.

    --check     Check that this process can be confined: exit 0 if so.
    -h, --help  Show this help.

  """

exit(ConfinedProgram.run("roamward-probe", usage: usage, atWork: ProbeWork.run, check: ProbeWork.check))
