import Agent
import ArgumentParser
import ControlProtocol
import PolicySource
import RoamwardCore

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Reads policies and tells everything that is wrong with them, at once.",
    discussion: "Needs neither root nor the agent. Exit status 1 when there is an error.")

  @Argument(help: "Policy files or folders; without any, the agent's folders.") var paths: [String] = []
  @Flag(help: "Print JSON.") var json = false
  @Flag(name: .shortAndLong, help: "Also tell which files are ignored, and why.") var verbose = false

  func run() throws {
    let loaded = loadPolicies(layers: paths.isEmpty ? PolicyLayers.standard : paths, requireRootOwnership: false)
    if json {
      let members: JSON = ["version": 1, "files": JSON(loaded.files), "problems": .array(loaded.diagnostics.map(\.problem.json))]
      write(members.text(indented: true) + "\n")
    } else {
      for diagnostic in loaded.diagnostics { writeError(diagnostic.rendered(color: usesColor) + "\n") }
      if verbose { for file in loaded.ignored { write("ignored: \(file.path): \(file.reason)\n") } }
      let errors = loaded.diagnostics.count { $0.severity == .error }
      write(
        "\(loaded.files.count) files, \(loaded.policies.tunnels.count) tunnels, \(errors) errors, \(loaded.diagnostics.count - errors) warnings\n"
      )
    }
    if loaded.hasErrors { throw ExitStatus.policyErrors }
  }
}
