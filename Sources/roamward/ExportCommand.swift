import ArgumentParser
import PolicyImport
import RoamwardCore

struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints a tunnel's rules in Apple's form: when it is wanted, not how it is built.",
    discussion: """
      What Apple's form cannot say is an error that names the rule; --lossy leaves out the rules that need it. Keys and addresses of the \
      tunnel are not in the profile and have to be added there. `roamward import` reads the rules back as they were.

      Exit status: 0 exported; 1 a policy has errors, or a rule cannot be said; 2 usage.
      """)

  @Flag(help: "The form to print.") var form: Form
  @Argument(help: "The tunnel's name; may be left out where there is only one.") var tunnel: String?
  @OptionGroup var policies: PolicyOptions
  @Flag(help: "Leave out rules that cannot be said, with a warning.") var lossy = false

  enum Form: String, EnumerableFlag {
    case mobileconfig
    case appleJSON

    static func name(for value: Form) -> NameSpecification { value == .mobileconfig ? .long : .customLong("apple-json") }

    static func help(for value: Form) -> ArgumentHelp? {
      value == .mobileconfig ? "A configuration profile." : "A declaration of OS 27, as JSON."
    }
  }

  func run() throws {
    let set = try policies.load()
    let chosen = try tunnel.map { [try set.described($0)] } ?? set.tunnels
    guard let one = chosen.first, chosen.count == 1 else {
      throw ValidationError("name one of the tunnels: \(set.tunnels.map(\.name).joined(separator: ", "))")
    }
    let export = exportProfile(one, networks: set.networks, form: form == .mobileconfig ? .mobileconfig : .declaration)
    for problem in export.problems {
      var shown = problem
      shown.isLoss = problem.isLoss && !lossy
      writeError(shown.text + (problem.isLoss && lossy ? "; left out, so that the rules after it decide in its place\n" : "\n"))
    }
    guard export.isWhole || lossy else {
      writeError("roamward: nothing was exported; --lossy leaves out the rules that cannot be said\n")
      throw ExitStatus.policyErrors
    }
    write(export.text)
  }
}
