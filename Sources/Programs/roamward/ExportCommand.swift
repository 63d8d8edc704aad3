import ArgumentParser
import PolicyImport
import RoamwardCore
import Terminal

struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Export a tunnel's rules in Apple's format.",
    discussion: """
      Exports the on-demand rules only. The tunnel's keys and addresses are not exported: add them to the profile yourself. `roamward \
      import` reads the exported rules back unchanged.

      A rule that Apple's format does not support is an error; --lossy leaves such rules out.

      Exit status: 0 exported; 1 policy error or unsupported rule; 2 usage error.

      Example: `roamward export corp --mobileconfig`
      """)

  @Flag(help: "Choose the output format.") var form: Form
  @Argument(help: "Name of the tunnel; optional if there is only one.", completion: .tunnels) var tunnel: String?
  @OptionGroup var policies: PolicyOptions
  @Flag(help: "Leave out unsupported rules, with a warning.") var lossy = false

  enum Form: String, EnumerableFlag {
    case mobileconfig
    case appleJSON

    static func name(for value: Form) -> NameSpecification { value == .mobileconfig ? .long : .customLong("apple-json") }

    static func help(for value: Form) -> ArgumentHelp? {
      value == .mobileconfig ? "Print a configuration profile." : "Print a declaration for OS 27, as JSON."
    }
  }

  func run() throws {
    let set = try policies.load()
    let chosen = try tunnel.map { [try set.described($0)] } ?? set.tunnels
    guard let one = chosen.first, chosen.count == 1 else {
      throw ValidationError("there are several tunnels; choose one of: \(set.tunnels.map(\.name).joined(separator: ", "))")
    }
    let export = exportProfile(one, networks: set.networks, form: form == .mobileconfig ? .mobileconfig : .declaration)
    for problem in export.problems {
      var shown = problem
      shown.isLoss = problem.isLoss && !lossy
      writeError(shown.text + (problem.isLoss && lossy ? "; left out: the rules after it decide instead\n" : "\n"))
    }
    guard export.isWhole || lossy else {
      writeError("roamward: nothing was exported; use --lossy to leave out unsupported rules\n")
      throw ExitStatus.policyErrors
    }
    write(export.text)
  }
}
