import Glibc
import LinuxIO
import ProbeWorker

// No argument parser: it would double this program's memory use.
private let usage = """
  usage: roamward-probe --check

  Resolve names and send probes for roamwardd, which starts this program when a policy needs it. It has no privileges,
  and uses only the sockets that roamwardd passes to it.

    --check     Check that this process can be confined: exit 0 if so.
    -h, --help  Show this help.

  """

private func say(_ text: String, on descriptor: Int32) {
  try? FileDescriptor(owning: dup(descriptor)).writeAll(Array(text.utf8))
}

private func run() -> Int32 {
  do throws(SystemError) {
    switch CommandLine.arguments.dropFirst() {
    case ["--at-work"]: try ProbeWork.run()
    case ["--check"]: try ProbeWork.check()
    case ["-h"], ["--help"]: say(usage, on: STDOUT_FILENO)
    default:
      say(usage, on: STDERR_FILENO)
      return 64
    }
    return 0
  } catch {
    say("roamward-probe: \(error)\n", on: STDERR_FILENO)
    return 1
  }
}

exit(run())
