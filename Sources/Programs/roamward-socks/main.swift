import FlowRelay
import Glibc
import ProcessConfinement

private let usage = """
  usage: roamward-socks [--beyond-loopback] [ADDRESS:PORT ...]

  Open connections for programs that speak SOCKS5 or CONNECT of HTTP, by TCP and UDP. All of them go through a tunnel, or
  not at all, if this program does:

    roamward run --through corp --up -- roamward-socks 127.0.0.1:1080

  Without an address it listens at 127.0.0.1:1080. It has no privileges.

    --any-route        Open connections also without a route of its own, as
                       any program would.
    --beyond-loopback  Listen at an address that others can reach, too.
    --check            Check that this process can be confined: exit 0 if so.
    -h, --help         Show this help.

  """

exit(
  ConfinedProgram.run("roamward-socks", usage: usage, check: SocksWork.check) { words, say in
    try SocksWork.run(try ProxyArguments(words), say: say)
  })
