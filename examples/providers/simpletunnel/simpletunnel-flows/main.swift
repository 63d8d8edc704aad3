import FlowRelay
import Glibc
import NetworkTypes
import ProcessConfinement
import SimpleTunnelHost

private let usage = """
  usage: simpletunnel-flows SERVER:PORT [--beyond-loopback] [ADDRESS:PORT ...]

  Open connections for programs that speak SOCKS5 or CONNECT of HTTP, by the flows of a SimpleTunnel server: by TCP and
  UDP, to all that the server reaches. Names are looked up there. Insecure, as the protocol.

    simpletunnel-flows vpn.example.com:9997 127.0.0.1:1080

  Without an address it listens at 127.0.0.1:1080. It has no privileges.

    --beyond-loopback  Listen at an address that others can reach, too.
    --check            Check that this process can be confined: exit 0 if so.
    -h, --help         Show this help.

  """

private struct Mistake: Error, CustomStringConvertible { let description: String }

exit(
  ConfinedProgram.run("simpletunnel-flows", usage: usage, check: SocksWork.check) { words, say in
    guard let server = words.first.flatMap({ Endpoint($0) }) else {
      throw Mistake(description: "the first argument is the server, HOST:PORT; see --help")
    }
    let arguments = try ProxyArguments(words.dropFirst())
    try SocksWork.run(at: arguments.places, needsRoute: false, outlet: { ServerOutlet(server: server, by: $1, on: $0) }, say: say)
  })
