import AgentCore
import ArgumentParser
import ControlProtocol
import Glibc
import JSON
import LinuxIO
import LinuxPlatform
import NetworkTypes
import PolicySource
import RoamwardCore
import Terminal

struct Network: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "network",
    abstract: "Show the network facts, and where they come from.",
    discussion: """
      If an agent is running, its facts are shown, because its rules use them. Facts that no policy needs are looked up by this command. \
      `evaluate --network` reads the output of --json.

      Example: `roamward network --save home.json`
      """)

  @OptionGroup var sources: SourceOptions
  @OptionGroup var agent: AgentOptions
  @Flag(help: "Show every source of each fact, in order, with its value.") var explainFacts = false
  @Flag(help: "Print the snapshot as JSON, with the source of each fact.") var json = false
  @Option(help: ArgumentHelp("Save the snapshot to a new file.", valueName: "file"), completion: .file()) var save: String?

  func run() throws {
    let underlay = try sources.seen(with: agent)
    if let save { try keep(underlay, in: save) }
    let now = Timestamp.now.seconds
    if json {
      write(underlay.json.text(indented: true) + "\n")
    } else if explainFacts {
      write(explanation(of: underlay.snapshot, from: underlay.provenance, at: now))
    } else if save == nil {
      write(report(underlay.snapshot, from: underlay.provenance, at: now))
      write(agent.probeLines.map { "\(pad("probe", 11)) \($0)\n" }.joined())
    }
  }

  private func keep(_ underlay: SnapshotWithSources, in path: String) throws {
    do throws(SystemError) {
      try TextFile.create(path, with: Array((underlay.json.text(indented: true) + "\n").utf8), mode: 0o644)
      writeError("saved to \(path); evaluate it with `roamward evaluate --network \(path)`\n")
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
  }
}
