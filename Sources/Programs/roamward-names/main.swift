import Glibc
import NameWorker
import ProcessConfinement

private let usage = """
  usage: roamward-names --check

  Answer DNS questions for roamwardd, which starts this program when a policy needs it. It forwards each name to the
  servers that its policy gives it, and holds names of a tunnel until that is connected. It has no privileges, and uses
  only the sockets that roamwardd passes to it.

    --check     Check that this process can be confined: exit 0 if so.
    -h, --help  Show this help.

  """

exit(ConfinedProgram.run("roamward-names", usage: usage, atWork: NameWork.run, check: NameWork.check))
