import ArgumentParser
import GatewayCore
import GatewayPage

struct Sites: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "site", abstract: "Manage the sites of a store, each with a key of its own.",
    discussion: """
      `roamward-gateway init --site NAME --store TARGET` adds one, on its machine. Clients log in at one of them, and use the nearest.
      """, subcommands: [List.self, Rename.self, Remove.self], defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the sites; this one has a star.",
      discussion: "Example: `roamward-gateway site list`")
    @OptionGroup var list: ListOptions

    func run() throws { try list.show(.sites, reading: .users([])) { directory, _ in directory.siteList } }
  }

  struct Rename: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rename",
      abstract: "Rename a site.",
      discussion: "Example: `roamward-gateway site rename main berlin`")
    @Argument(help: "The present name.") var name: GatewayName
    @Argument(help: "The new name.") var new: GatewayName
    @OptionGroup var options: ChangeOptions

    func run() throws {
      try options.make { work throws(GatewayError) in try work.renameSite(name, to: new) }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove another site, with its pools and their leases.",
      discussion: """
        Stop it first: a running one keeps its link as it is. Clients forget it with the settings that they get next.

        Example: `roamward-gateway site remove berlin`
        """)
    @Argument(help: "The name.") var name: GatewayName
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make { work throws(GatewayError) in try work.removeSite(name) } }
  }
}
