import ArgumentParser
import ControlProtocol
import LinuxIO
import NetworkTypes
import PolicyAuthoring
import Terminal

struct Apps: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "app",
    abstract: "Give programs of the desktop a route of their own.",
    discussion: """
      A program that is started from a menu, the dock or a link is then started by `roamward run`. The program's own files stay as they \
      are: your own file of the same name, in ~/.local/share/applications, takes their place.

      Example: `roamward app add firefox-esr --through corp`
      """,
    subcommands: [Add.self, Remove.self, List.self], defaultSubcommand: List.self)

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Give a program a route wherever a launcher starts it.",
      discussion: """
        The program is named as its file in /usr/share/applications, without .desktop. It has its route when it is started the next time: \
        a browser that runs opens pages without one, so end it first. `roamward run` says what the route means.

        Example: `roamward app add firefox-esr --through corp --up`
        """)

    @OptionGroup var agent: AgentOptions
    @Argument(help: ArgumentHelp("Program, as its file without .desktop.", valueName: "program"), completion: .launchers())
    var name: String
    @Option(help: ArgumentHelp("Tunnel that all packets leave by.", valueName: "tunnel"), completion: .tunnels) var through: String?
    @Flag(help: "Let packets leave outside of every tunnel.") var outside = false
    @Flag(help: "Bring the tunnel up at each start.") var up = false

    func validate() throws {
      if (through != nil) == outside { throw ValidationError("name the route: --through TUNNEL, or --outside") }
      if up, through == nil { throw ValidationError("--up is for --through") }
    }

    func run() throws {
      if let through, try !agent.status().tunnels.contains(where: { $0.name == through }) {
        throw Failure.refused("no tunnel is named \"\(through)\"; `roamward status` lists them")
      }
      let folders = DesktopFolders()
      let own = try folders.own(name)
      if let present = try folders.entry(own), present.route == nil {
        throw Failure.refused("\(own) is a file of your own: put `roamward run` into its `Exec`, or move it away")
      }
      guard let path = folders.path(of: name) else {
        let near = folders.names.filter { $0.lowercased().contains(name.lowercased()) }.prefix(4)
        let others = near.isEmpty ? "`roamward app list --all` lists the programs" : "there is \(near.joined(separator: ", "))"
        throw Failure.refused("no program has a file \(name).desktop; \(others)")
      }
      guard let entry = try folders.entry(path) else { throw Failure.refused("\(path) is not there any more") }
      // Also behind `env`.
      if let manager = entry.words.lazy.compactMap({ executablePath($0).flatMap(groupingManager) }).first {
        throw Failure.refused(
          "\(name) is started by \(manager), which moves it out of every control group: its packets would leave by the usual route;"
            + " use a package of the program that needs no \(manager)")
      }
      let route: DesktopEntry.Route = through.map { .through($0) } ?? .outside
      let options = (through.map { ["--through", $0] } ?? ["--outside"]) + (up ? ["--up"] : [])
      try folders.write(entry.text(for: route, program: ownProgram("roamward"), options: options), to: own)
      write("\(entry.name) (\(name)) is started \(route) from now on, by \(own)\n")
      if entry.isStartedByBus {
        write("note: other programs may start it over D-Bus too: it has no route of its own then\n")
      }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove the route that launchers give a program.",
      discussion: "Example: `roamward app remove firefox-esr`")

    @Argument(
      help: ArgumentHelp("Program, as its file without .desktop.", valueName: "program"),
      completion: .launchers(routed: true))
    var name: String

    func run() throws {
      let folders = DesktopFolders()
      let own = try folders.own(name)
      guard let entry = try folders.entry(own) else {
        throw Failure.refused("\(name) has no route of its own; `roamward app list` lists the programs that have one")
      }
      guard entry.route != nil else { throw Failure.refused("\(own) is a file of your own, which `roamward app` has not written") }
      try folders.remove(own)
      write("\(entry.name) (\(name)) is started as before\n")
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List programs of the desktop that have a route of their own.",
      discussion: "Example: `roamward app list --all`")

    @Flag(help: "List every program of the desktop.") var all = false

    func run() throws {
      let folders = DesktopFolders()
      let routed = Dictionary(folders.routed.map { ($0.name, $0.route.description) }) { first, _ in first }
      for name in all ? folders.names : routed.keys.sorted() { write("\(name)  \(routed[name] ?? "no route of its own")\n") }
    }
  }
}
