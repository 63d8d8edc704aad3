import ArgumentParser
import ControlProtocol
import Glibc
import JSON
import LinuxIO
import NetworkTypes
import Terminal

struct Guard: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "guard",
    abstract: "Run a VPN program under a kill switch of its own.",
    discussion: """
      The program alone reaches its endpoint outside. All other traffic goes through its link, or through a tunnel that is up, or is \
      blocked: from before the program's start until it has ended well, with all that it has started. The local network is blocked too. If \
      the program is ended by a signal of another process or fails, all traffic stays blocked until you end `roamward guard` (Ctrl-C). If \
      `roamward guard` itself is killed, all traffic stays blocked until `roamward release`, or the next boot.

      --endpoint takes an address or a name, with or without a port: 203.0.113.10:1194, [2001:db8::1]:1194, vpn.example.com. It may be \
      repeated. Without it, the program's own packets pass to every address. With it, look up no names in the program: write addresses.

      Without --link, each TUN or PPP link that appears after the start is the program's. The exit status is that of the program; 126 and \
      127 say that it cannot be executed.

      Example: `roamward guard --endpoint vpn.example:1194 -- openvpn --config work.ovpn`
      """)

  @OptionGroup var agent: AgentOptions
  @OptionGroup var session: SessionOptions
  @Option(help: ArgumentHelp("Let the program reach only this outside.", valueName: "endpoint")) var endpoint: [String] = []
  @Option(help: ArgumentHelp("Name of the program's link.", valueName: "link")) var link: String?
  @Argument(parsing: .postTerminator, help: "The program and its arguments, after --.") var program: [String]

  func validate() throws {
    if let link, InterfaceName(link) == nil { throw ValidationError("--link takes the name of a link: tun0") }
  }

  func run() throws {
    let path = try executable(program[0], butSo: "nothing was blocked")
    let name = shortName(program[0])
    let request = GuardRequest(
      program: name, endpoints: endpoint, link: link, namespace: ownNetworkNamespace ?? 0, sessions: session.sessions)
    let reply: GuardReply
    do {
      reply = try agent.ask(.guard(request)).decoded()
    } catch let error as JSONMismatch {
      writeError("roamward: the agent's answer cannot be read: \(error)\n")
      throw ExitStatus.refused
    }
    let reach = reply.endpoints.isEmpty ? "every address" : reply.endpoints.joined(separator: ", ")
    writeError("roamward: \(escaped(name)) alone reaches \(reach) outside; all other traffic goes through its link, or is blocked\n")
    let presence = reply.presence.map(OwnPresence.init)
    defer { presence?.end() }
    var child: GuardedProgram
    do throws(SystemError) {
      child = try GuardedProgram(path, program) { presence?.begin() }
    } catch {
      writeError("roamward: cannot \(error)\n")
      throw ExitCode(error.code == ENOENT ? 127 : 126)
    }
    let (code, isWanted) = child.end()
    if !isWanted {
      let manner = code > 128 ? "was ended by signal \(code - 128)" : "has failed with code \(code)"
      writeError(
        "roamward: \(escaped(name)) \(manner); the kill switch stays closed. To open it, press Ctrl-C, or run: sudo kill \(getpid())\n")
      child.awaitPerson()
    }
    throw ExitCode(code)
  }
}
